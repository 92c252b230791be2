"""The records of an answer, and the rules by which rows become records."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lightrag_dagster.stages.extraction.normalise import (
    normalise_description,
    normalise_keywords,
    normalise_name,
    normalise_type,
)
from lightrag_dagster.stages.extraction.rows import Row, strength

# The types that the prompts suggest; an answer's own entities add to them.
_USUAL_TYPES = {
    *("person", "creature", "organization", "location", "event", "concept"),
    *("method", "content", "data", "artifact", "naturalobject", "other"),
}

# Placeholders of prompts, in case a model repeats them.
_PLACEHOLDER_NAME = re.compile(
    r"\W*(?:(?:entity|source|target)[ _](?:entity|name)|name of (?:the )?entity)[ _]?\d*\W*",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[<{\[].*[>}\]]|\W*(?:(?:(?:entity|source|target|relation(?:ship)?)[ _]?)?"
    r"(?:name|type|description|keywords?|strength)|(?:source|target)(?:[ _]entity)?)\W*",
    re.IGNORECASE,
)


_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’」』)\]*]{0,3}\Z")
_WIDE_SENTENCE_ENDS = ("。", "！", "？")
_FEWEST_WORDS = 4
"""Words of a text that continues a description."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One mention of an entity; name and type are normalised."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Relation:
    """One mention of a relation, in the direction it was written; weight is 1 unless the row has a strength."""

    src: str
    tgt: str
    keywords: str
    description: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Records:
    """The records of an answer, in its order, and whether the answer came to its end."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    complete: bool


def make_entity(name: str, kind: str, description: str) -> Entity | None:
    """Return the normalised entity, or None where name, type or description is unusable or a placeholder."""
    entity = Entity(normalise_name(name), normalise_type(kind), normalise_description(description))
    if not (entity.name and entity.type and entity.description) or _PLACEHOLDER_NAME.fullmatch(entity.name):
        return None
    return None if all(map(_PLACEHOLDER.fullmatch, (entity.description, entity.name, entity.type))) else entity


def make_relation(src: str, tgt: str, keywords: str, description: str, weight: float = 1.0) -> Relation | None:
    """Return the normalised relation, or None where an end or the description is unusable or both ends are the same.

    Keywords may be blank.
    """
    relation = Relation(
        normalise_name(src),
        normalise_name(tgt),
        normalise_keywords(keywords),
        normalise_description(description),
        weight,
    )
    ends = relation.src, relation.tgt
    if not (all(ends) and relation.description) or relation.src == relation.tgt:
        return None
    if any(map(_PLACEHOLDER_NAME.fullmatch, ends)):
        return None
    fields = (relation.description, *ends, relation.keywords)
    return None if all(map(_PLACEHOLDER.fullmatch, fields)) else relation


def interpret(rows: Sequence[Row]) -> tuple[list[Entity], list[Relation]]:
    """Return the entities and the relations that rows hold, in their order.

    A relation has source, target, keywords and description. Where a strength ends it (as in older prompts: a number,
    or words such as `high`), the description is the field that reads more like one. An entity has name, type and
    description; a strength after them is left out. A fourth text is ambiguous. The row is a relation under the wrong
    tag where the second field is an entity of the answer, or is no known type and the third does not read more like a
    description than the fourth. In other rows a long fourth text continues the description, and a short one is left
    out.
    """
    records = [_record(row) for row in rows]
    if any(isinstance(record, _WideEntity) for record in records):
        whole = [record for record in records if isinstance(record, Entity)]
        names, types = {entity.name for entity in whole}, {entity.type for entity in whole} | _USUAL_TYPES
        records = [_resolved(record, names, types) if isinstance(record, _WideEntity) else record for record in records]
    return (
        [record for record in records if isinstance(record, Entity)],
        [record for record in records if isinstance(record, Relation)],
    )


class _WideEntity(NamedTuple):
    fields: list[str]
    weight: float | None


def _record(row: Row) -> Entity | Relation | _WideEntity | None:
    fields, weight = _fitted(row)
    if row.kind == "relation":
        return _relation(fields, weight)
    if len(fields) == 3:
        return make_entity(*fields)
    return _WideEntity(fields, weight) if len(fields) == 4 else None


def _fitted(row: Row) -> tuple[list[str], float | None]:
    """Return the fields without blanks beyond the number that the kind has, and the strength after them."""
    wanted = 3 if row.kind == "entity" else 4
    if len(row.fields) == wanted:
        return row.fields, None
    fields, weight = list(row.fields), None
    while len(fields) > wanted and not fields[-1]:
        fields.pop()
    if len(fields) > wanted:
        weight = strength(fields[-1])
        if weight is not None:
            fields.pop()
    blanks = [index for index, field in enumerate(fields) if not field]
    surplus = set(blanks[: max(0, len(fields) - wanted)])
    return [field for index, field in enumerate(fields) if index not in surplus], weight


def _relation(fields: list[str], weight: float | None) -> Relation | None:
    if len(fields) != 4:
        return None
    src, tgt, third, fourth = fields
    if weight is None:
        return make_relation(src, tgt, third, fourth)
    keywords, description = sorted((third, fourth), key=_prose)  # of equals, as in rows without a strength
    return make_relation(src, tgt, keywords, description, weight)


def _resolved(row: _WideEntity, names: Container[str], types: Container[str]) -> Entity | Relation | None:
    name, second, third, fourth = row.fields
    known = normalise_type(second) in types
    described = row.weight is None and _prose(third)[0] and not _prose(fourth)[0]
    if normalise_name(second) in names or not (known or described):
        return _relation(row.fields, row.weight)
    continues = len(fourth.split()) >= _FEWEST_WORDS or fourth.endswith(_WIDE_SENTENCE_ENDS)
    return make_entity(name, second, f"{third} {fourth}" if continues else third)


def _prose(field: str) -> tuple[bool, int, int]:
    """Return how much a field reads like a description: a sentence more than a phrase, then a longer one more."""
    return _SENTENCE_END.search(field) is not None, len(field.split()), len(field)
