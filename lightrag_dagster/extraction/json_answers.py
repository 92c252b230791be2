"""Answers that hold a JSON object instead of rows: `{"entities": [...], "relationships": [...]}`.

The object is the first thing in the answer that opens with a brace. An answer that opens with `[` outside quotes is a
list and is refused, so that one of its items is never taken for the whole. What is not valid JSON is repaired.
"""

import json
import re
from typing import NamedTuple

import json_repair

from lightrag_dagster.extraction.records import Entity, Relation, make_entity, make_relation

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_OPENER = re.compile(rf"{_STRING}|(?P<opener>[\[{{])", re.DOTALL)
# An apostrophe opens a string only where a key or a value may stand, so that O'Reilly without quotes is left whole.
_PART = re.compile(rf"{_STRING}|(?<=[{{\[,:])\s*+'[^'\\]*+(?:\\.[^'\\]*+)*+'?|(?P<brace>[{{}}])", re.DOTALL)
# What follows the first brace of an object that is worth repairing.
_OBJECT = re.compile(r"\{\s*[\"'\w]")
_CLOSING_FENCE = re.compile(r"\s*```\s*\Z")
# JSON reads an unescaped \frac or \beta as a control character and the rest of the word.
_LATEX_DAMAGE = re.compile(r"[\x08\x0c](?=[A-Za-z])")


class JsonAnswer(NamedTuple):
    """The usable records of an object, and whether the object was valid and whole."""

    entities: list[Entity]
    relations: list[Relation]
    whole: bool


def read_json(answer: str, *, truncated: bool) -> JsonAnswer | None:
    """Return the records of the answer's JSON object, or None when it holds no such object.

    Of a truncated answer, the item that was cut off is left out.
    """
    opener = next((found for found in _OPENER.finditer(answer) if found["opener"]), None)
    if opener is None or opener["opener"] != "{":
        return None
    text = answer[opener.start() :]
    try:
        content, whole = json.JSONDecoder().raw_decode(text)[0], True
    except (ValueError, RecursionError):
        content, whole = _repaired(text[: text.rfind("}") + 1] if truncated else text), False
    if not isinstance(content, dict) or content.keys().isdisjoint({"entities", "relationships"}):
        return None
    entities = [
        make_entity(_text(item, "name"), _text(item, "type"), _text(item, "description"))
        for item in _items(content, "entities")
    ]
    relations = [
        make_relation(_text(item, "source"), _text(item, "target"), _text(item, "keywords"), _text(item, "description"))
        for item in _items(content, "relationships")
    ]
    return JsonAnswer([item for item in entities if item], [item for item in relations if item], whole)


def _repaired(text: str) -> object:
    if not _OBJECT.match(text):
        return None
    depth = 0
    for part in _PART.finditer(text):
        depth += {"{": 1, "}": -1}.get(part["brace"], 0)
        if depth == 0:
            text = text[: part.end()]
            break
    try:
        return json_repair.loads(_CLOSING_FENCE.sub("", text))
    except (ValueError, RecursionError):
        return None


def _items(content: dict[str, object], key: str) -> list[dict[str, object]]:
    items = content.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _text(item: dict[str, object], key: str) -> str:
    value = item.get(key)
    if isinstance(value, list):
        value = ", ".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str | int | float):
        return ""
    return _LATEX_DAMAGE.sub(lambda found: r"\b" if found[0] == "\b" else r"\f", str(value))
