"""Answers written and read compactly: `¦` for a delimiter, one line a record.

A table of hundreds of answers is one test, since the fixtures of a test take longer than all its answers.
"""

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from lightrag_dagster.stages.extraction.parsing import EntityRecord, RelationRecord, parse_response

Written = TypeVar("Written")


def read(answer: str) -> list[str]:
    """Return the records of an answer, entities first, their fields joined by ` ¦ `; a weight of 1 is left out."""
    found = parse_response(answer.replace("¦", "<|#|>"))
    return [*map(_entity_line, found.entities), *map(_relation_line, found.relations)]


def read_json(*fields: str) -> list[str]:
    """Return the records of an answer in JSON with one item: an entity of three fields, or a relation of four."""
    entity, relation = ("name", "type", "description"), ("source", "target", "keywords", "description")
    key, names = ("entities", entity) if len(fields) == len(entity) else ("relationships", relation)
    return read(json.dumps({key: [dict(zip(names, fields, strict=True))]}))


def differences(
    table: Mapping[Written, object], reader: Callable[[Written], object]
) -> dict[Written, tuple[object, object]]:
    """Return what is not read as the table says: what was written, and what was expected and read."""
    found = {written: (expected, reader(written)) for written, expected in table.items()}
    return {written: both for written, both in found.items() if both[0] != both[1]}


def _entity_line(entity: EntityRecord) -> str:
    return f"{entity.name} ¦ {entity.type} ¦ {entity.description}"


def _relation_line(relation: RelationRecord) -> str:
    weight = "" if relation.weight == 1 else f" ¦ {relation.weight:g}"
    return f"{relation.src} ¦ {relation.tgt} ¦ {relation.keywords} ¦ {relation.description}{weight}"
