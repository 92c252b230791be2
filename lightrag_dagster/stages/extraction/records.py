"""The records of an answer, and the rules for what may become one (§4)."""

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

# What prompts write where values belong, in case a model repeats it.
_PLACEHOLDER_NAME = re.compile(
    r"\W*(?:(?:entity|source|target)[ _](?:entity|name)|name of (?:the )?entity)[ _]?\d*\W*",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[<{\[].*[>}\]]|\W*(?:(?:(?:entity|source|target|relation(?:ship)?)[ _])?"
    r"(?:name|type|description|keywords?|strength)|(?:source|target)(?:[ _]entity)?)\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Entity:
    """What one row says of an entity; name and type are normalised."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What one row says of two entities, in the direction it was written; weight is 1 unless the row has a strength."""

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
    if _PLACEHOLDER_NAME.fullmatch(name) or all(map(_PLACEHOLDER.fullmatch, (description, name, kind))):
        return None
    entity = Entity(normalise_name(name), normalise_type(kind), normalise_description(description))
    return entity if entity.name and entity.type and entity.description else None


def make_relation(src: str, tgt: str, keywords: str, description: str, weight: float = 1.0) -> Relation | None:
    """Return the normalised relation, or None where an end or the description is unusable or both ends are the same.

    Keywords may be blank.
    """
    if _PLACEHOLDER_NAME.fullmatch(src) or _PLACEHOLDER_NAME.fullmatch(tgt):
        return None
    if all(map(_PLACEHOLDER.fullmatch, (description, src, tgt, keywords))):
        return None
    relation = Relation(
        normalise_name(src),
        normalise_name(tgt),
        normalise_keywords(keywords),
        normalise_description(description),
        weight,
    )
    usable = relation.src and relation.tgt and relation.description and relation.src != relation.tgt
    return relation if usable else None


def interpret(rows: Sequence[Row]) -> tuple[list[Entity], list[Relation]]:
    """Return the entities and the relations that rows hold, in their order.

    A relation has source, target, keywords and description; or, where a number ends it, source, target, description,
    keywords and strength, the order of older prompts. An entity has name, type and description; a number after them is
    left out. A fourth text is ambiguous: where the second field is a usual type, or one of the answer, and no entity of
    the answer, it is the rest of the description; otherwise the row is a relation under the wrong word.
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
    return make_relation(src, tgt, third, fourth) if weight is None else make_relation(src, tgt, fourth, third, weight)


def _resolved(row: _WideEntity, names: Container[str], types: Container[str]) -> Entity | Relation | None:
    name, second, third, fourth = row.fields
    if normalise_name(second) not in names and normalise_type(second) in types:
        return make_entity(name, second, f"{third} {fourth}")
    return _relation(row.fields, row.weight)
