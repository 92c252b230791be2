"""Answers that hold a JSON object instead of rows: `{"entities": [...], "relationships": [...]}`.

The object is the first thing in the answer that opens with a brace. An answer that opens with `[` outside quotes is a
list and is refused, so that none of its items is taken for the answer. If an object is not valid JSON, each item is
decoded or repaired by itself: one broken item costs no other, and the time stays linear.
"""

import json
import re
from itertools import pairwise
from typing import NamedTuple

from lightrag_dagster.stages.extraction.records import EntityRecord, RelationRecord, make_entity, make_relation
from lightrag_dagster.stages.extraction.rejections import BROKEN_ITEM, NO_OBJECT, Rejected

_FIRST_OPENER = re.compile(r'(?:[^"\[{]++|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z))*+\{', re.DOTALL)
_ITEM = re.compile(r"\{\s*(?![\"'“]?(?:entities|relationships)\b)[\"'“]?\w+[\"'”]?\s*:")
_LISTS = re.compile("entities|relationships")
# json_repair takes quadratic time on some texts; an item is never as long as this.
_MAX_REPAIRED = 4096
# JSON reads an unescaped \frac or \beta as a control character and the rest of the word.
_LATEX_DAMAGE = re.compile(r"[\x08\x0c](?=[A-Za-z])")
_DECODER = json.JSONDecoder(strict=False)  # which allows line breaks in strings


class JsonAnswer(NamedTuple):
    """The usable records of an object, True where the object was valid and complete, and the rejected items."""

    entities: list[EntityRecord]
    relations: list[RelationRecord]
    whole: bool
    rejected: tuple[Rejected, ...] = ()


def read_json(answer: str, *, truncated: bool) -> JsonAnswer | None:
    """Return the records of the answer's JSON object, or None when it holds no such object.

    The item that was cut off is left out of a truncated answer.
    """
    opener = _FIRST_OPENER.match(answer)
    if opener is None:
        return None
    text = answer[opener.end() - 1 :]
    content, whole, broken = _decoded(text), True, 0
    if content is None:
        (content, broken), whole = _repaired(text, truncated=truncated), False
    if content.keys().isdisjoint({"entities", "relationships"}):
        return None
    entities: list[EntityRecord | Rejected | None] = [
        make_entity(_text(item, "name"), _text(item, "type"), _text(item, "description"))
        for item in _items(content, "entities")
    ]
    relations: list[RelationRecord | Rejected | None] = [
        make_relation(_text(item, "source"), _text(item, "target"), _text(item, "keywords"), _text(item, "description"))
        for item in _items(content, "relationships")
    ]
    rejected = [item for item in (*entities, *relations) if isinstance(item, Rejected)]
    rejected += [NO_OBJECT] * _stray(content) + [BROKEN_ITEM] * broken
    return JsonAnswer(
        [item for item in entities if isinstance(item, EntityRecord)],
        [item for item in relations if isinstance(item, RelationRecord)],
        whole,
        # Braces in other text hold no items of the answer.
        tuple(rejected) if whole or _LISTS.search(text) else (),
    )


def _decoded(text: str) -> dict[str, object] | None:
    try:
        content = _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _repaired(text: str, *, truncated: bool) -> tuple[dict[str, object], int]:
    """Return the items that are valid or can be repaired, and the number of the others."""
    import json_repair

    items: list[dict[str, object]] = []
    broken = 0
    starts = [found.start() for found in _ITEM.finditer(text)]
    for start, end in pairwise([*starts, len(text)]):
        item: object = _decoded(text[start:end])
        if item is None and not (truncated and end == len(text)) and end - start <= _MAX_REPAIRED:
            closed = text.rfind("}", start, end)
            try:
                item = json_repair.loads(text[start : closed + 1 if closed > 0 else end])
            except Exception:  # any error of the repair costs this item only
                item = None
        if isinstance(item, dict):
            items.append(item)
        elif not (truncated and end == len(text)):
            broken += 1
    entities = [item for item in items if "name" in item]
    relations = [item for item in items if "name" not in item]
    found: dict[str, object] = {"entities": entities, "relationships": relations}
    return found if items or broken else {}, broken


def _items(content: dict[str, object], key: str) -> list[dict[str, object]]:
    items = content.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _stray(content: dict[str, object]) -> int:
    """Return the number of items that are not objects; a value that is not a list counts as one."""
    lists = [content[key] for key in ("entities", "relationships") if content.get(key)]
    return sum(sum(not isinstance(item, dict) for item in one) if isinstance(one, list) else 1 for one in lists)


def _text(item: dict[str, object], key: str) -> str:
    value = item.get(key)
    if isinstance(value, list):
        value = ", ".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str | int | float):
        return ""
    return _LATEX_DAMAGE.sub(lambda found: r"\b" if found[0] == "\b" else r"\f", str(value))
