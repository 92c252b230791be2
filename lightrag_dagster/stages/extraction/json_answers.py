"""Answers in JSON instead of rows: `{"entities": [...], "relationships": [...]}`.

Models also write several such objects, one item a line, a bare list, other names for the keys, or all of it inside of
another object. Values are read one after another, from the first brace outside quotes. From the first on that is not
valid, each item is decoded or repaired by itself: one broken item costs no other, and the time stays linear.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from pydantic_core import from_json

from lightrag_dagster.stages.extraction.records import EntityRecord, RelationRecord, make_entity, make_relation
from lightrag_dagster.stages.extraction.rejections import BROKEN_ITEM, BROKEN_OFF, NO_OBJECT, SEVERAL_ENDS, Rejected
from lightrag_dagster.stages.extraction.tuple_rows import Kind

_LIST = r"(?:extracted_?)?(?:(?P<entity>entit(?:y|ies)|nodes?)|relation(?:ship)?s?|edges?|triples?)(?:_?list)?"
_LIST_KEY = re.compile(_LIST, re.IGNORECASE)
_BEFORE_VALUE = re.compile(r'(?:[^"\[{]++|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|\[(?!\s*[\[{]))*+(?=[\[{])', re.DOTALL)
_BEGINS = rf"{_LIST}[\"'”]?\s*:\s*[\[{{n]"
_LIST_BEGINS = re.compile(_BEGINS, re.IGNORECASE)
# The start of an item, not of an object around one.
_ITEM = re.compile(rf"\{{\s*[\"'“]?(?!{_BEGINS})\w+[\"'”]?\s*:(?!\s*(?:\{{|\[\s*\{{))", re.IGNORECASE)
_END = r"(?:entity|node)?(?:name|id)?"
_FIELDS: dict[Kind, re.Pattern[str]] = {
    "entity": re.compile(
        r"(?P<name>(?:entity|node)?(?:name|title)|entity)|(?P<id>id)|(?P<type>(?:entity|node)?(?:type|category|kind)|label)"
        r"|(?P<description>(?:entity|node)?(?:desc|description|summary))"
    ),
    "relation": re.compile(
        rf"(?P<source>(?:source|src|head|subject|from|start){_END})|(?P<target>(?:target|tgt|tail|object|to|end){_END})"
        r"|(?P<description>(?:relation|relationship|edge)?(?:desc|description|summary|fact))"
        r"|(?P<keywords>(?:relation|relationship|edge)?(?:keywords?|type|name|label)|relation|relationship|predicate)"
    ),
}
"""Names of keys, in lower case and without marks, for those of ours."""
_ENTITY, _ENDS, _OF_RELATION = ("name", "type", "description"), ("source", "target"), ("keywords", "description")
# json_repair takes quadratic time on some texts; an item is never as long as this.
_MAX_REPAIRED = 4096
# JSON reads an unescaped \frac or \beta as a control character and the rest of the word.
_LATEX_DAMAGE = re.compile(r"[\x08\x0c](?=[A-Za-z])")
_DECODER = json.JSONDecoder(strict=False)  # which allows line breaks in strings


class JsonAnswer(NamedTuple):
    """The usable records of an answer, True where all of it was valid and complete, and the rejected items."""

    entities: list[EntityRecord]
    relations: list[RelationRecord]
    whole: bool
    rejected: tuple[Rejected, ...] = ()


def read_json(answer: str, *, truncated: bool) -> JsonAnswer | None:
    """Return the records of the answer's JSON values, or None when these are none of records.

    The item that was cut off is left out of a truncated answer, and of one that breaks off.
    """
    items: list[tuple[Kind, object]] = []
    of_records, rest, too_deep = answer.strip("` \nJSONjson") == "[]", "", 0
    at: int | None = 0
    while at is not None and (before := _BEFORE_VALUE.match(answer, at)):
        value, at = _decoded(answer, before.end())
        try:
            of_records |= _collect(value, None, items)
        except RecursionError:
            too_deep += 1
        rest = answer[before.end() :] if at is None else ""
    cut = not truncated and breaks_off(rest)
    repaired, broken = _repaired(rest, truncated=truncated or cut)
    broken += too_deep
    others = [item for item in repaired if not _collect(item, None, items)]
    if not (of_records or items or ((others or broken or cut) and _LIST_BEGINS.search(answer))):
        return None  # braces in other text hold no items
    items += [("entity" if "name" in _fields("entity", item) else "relation", item) for item in others]
    whole = of_records and not (cut or _ITEM.search(rest))
    records = [record for kind, item in items for record in _records(kind, item)]
    return JsonAnswer(
        [record for record in records if isinstance(record, EntityRecord)],
        [record for record in records if isinstance(record, RelationRecord)],
        whole,
        (*(record for record in records if isinstance(record, Rejected)), *[BROKEN_ITEM] * broken, *[BROKEN_OFF] * cut),
    )


def breaks_off(text: str) -> bool:
    """Say whether JSON, from its first value that is not valid, ends within an item or where another was to follow.

    If brackets alone are missing after the last item, as small models write, nothing is lost.
    """
    text = text.rstrip("` \n")
    goes_on = "{" in text[text.rfind("}") + 1 :]
    try:
        from_json(text)
    except ValueError as error:
        goes_on |= str(error).startswith("EOF")
    return goes_on and text[-1:] not in ("", "}", "]")


def _decoded(text: str, start: int = 0) -> tuple[object, int | None]:
    """Return the value that begins there, and where it ends; None for both if it is not valid."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, None


def _collect(value: object, kind: Kind | None, items: list[tuple[Kind, object]]) -> bool:
    """Add the items in a value, which a list of this kind may hold; return True if it is of records, even of none."""
    if isinstance(value, list):
        inner = [(kind, one) for one in value]
    elif not isinstance(value, dict):
        inner = []
        items += [(kind, value)] if kind else []
    elif found := _kind_of(value, kind):
        items.append((found, value))
        return True
    elif kind:  # name → item
        inner = [(kind, {"name": name} | one if isinstance(one, dict) else one) for name, one in value.items()]
    else:
        inner = [(_kind_of_list(key), one) for key, one in value.items()]
    of_records = kind is not None
    for own, one in inner:
        of_records |= _collect(one, own, items) if one else own is not None
    return of_records


def _kind_of(item: dict[str, object], of_list: Kind | None) -> Kind | None:
    """Return what an object in a list is, or None if it has others inside."""
    entity = _fields("entity", item).keys()
    ends = {"source", "target"} <= _fields("relation", item).keys()
    if ends and (of_list == "relation" or len(entity) < len(_ENTITY)):  # an event may have all of its own, from and to
        return "relation"
    if "name" in entity and (of_list == "entity" or (of_list is None and len(entity) > 1)):
        return "entity"
    inside = bool(item) and all(isinstance(one, dict) for one in item.values())
    return None if inside else of_list


def _kind_of_list(key: str) -> Kind | None:
    found = _LIST_KEY.fullmatch(key)
    return found and ("entity" if found["entity"] else "relation")


def _repaired(text: str, *, truncated: bool) -> tuple[list[dict[str, object]], int]:
    """Return the items that are valid or can be repaired, and the number of the others."""
    items: list[dict[str, object]] = []
    broken = 0
    starts = [found.start() for found in _ITEM.finditer(text)]
    for start, end in pairwise([*starts, len(text)]):
        item, _ = _decoded(text[start:end])
        if item is None and not (truncated and end == len(text)):
            closed = text.rfind("}", start, end)
            item = repaired(text[start : closed + 1 if closed > 0 else end])
        if isinstance(item, dict):
            items.append(item)
        elif not (truncated and end == len(text)):
            broken += 1
    return items, broken


def repaired(item: str) -> object:
    """Return the value of one item that is not valid JSON; None if it is too long, or cannot be repaired."""
    import json_repair

    try:
        return json_repair.loads(item) if len(item) <= _MAX_REPAIRED else None
    except Exception:  # any error of the repair costs this item only
        return None


def _records(kind: Kind, item: object) -> Sequence[EntityRecord | RelationRecord | Rejected | None]:
    """Return the record of an item; of a relation whose one end is a list, one for each of its names."""
    if not isinstance(item, dict):
        return [NO_OBJECT]
    fields = _fields(kind, item)
    if kind == "entity":
        return [make_entity(*(_text(fields.get(one)) for one in _ENTITY))]
    ends = [one if isinstance(one := fields.get(end), list) else [one] for end in _ENDS]
    if min(map(len, ends)) > 1:  # two lists do not say which ends are one relation
        return [SEVERAL_ENDS]
    keywords, description = (_text(fields.get(one)) for one in _OF_RELATION)
    pairs = product(*ends) if all(ends) else [("", "")]
    return [make_relation(_text(src), _text(tgt), keywords, description) for src, tgt in pairs]


def _fields(kind: Kind, item: dict[str, object]) -> dict[str, object]:
    """Return the values of an item under our names of the keys; a key that has our name goes first."""
    found: dict[str, object] = {}
    for key, value in item.items():
        if (name := _field(kind, key)) and (name not in found or key == name):
            found[name] = value
    own = found.pop("id", None)
    return found if own is None else {"name": own} | found


@lru_cache(maxsize=1024)
def _field(kind: Kind, key: str) -> str | None:
    found = _FIELDS[kind].fullmatch("".join(filter(str.isalnum, key.lower())))
    return found.lastgroup if found else None


def _text(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str | int | float):
        return ""
    return _LATEX_DAMAGE.sub(lambda found: r"\b" if found[0] == "\b" else r"\f", str(value))
