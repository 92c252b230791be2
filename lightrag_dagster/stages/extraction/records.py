"""The records of an answer, and the rules by which rows become records."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lightrag_dagster.core.text.names import (
    MAX_NAME_CHARACTERS,
    USUAL_TYPES,
    normalise_description,
    normalise_keywords,
    normalise_name,
    normalise_type,
)
from lightrag_dagster.stages.extraction import rejections
from lightrag_dagster.stages.extraction.delimiters import FIELD
from lightrag_dagster.stages.extraction.rejections import Rejected, wrong_fields
from lightrag_dagster.stages.extraction.tuple_rows import Kind, Row, strength

# Fields of a row, without its record word.
_FIELDS: dict[Kind, int] = {"entity": 3, "relation": 4}

# Placeholders of prompts, in case a model repeats them.
_PLACEHOLDER_NAME = re.compile(
    r"\W*(?:(?:entity|source|target)[ _](?:entity|name)|name of (?:the )?entity)[ _]?\d*\W*", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"[<{\[].*[>}\]]|\W*(?:(?:(?:entity|source|target|relation(?:ship)?)[ _]?)?"
    r"(?:name|type|description|keywords?|strength)|(?:source|target)(?:[ _]entity)?)\W*",
    re.IGNORECASE,
)


_FEWEST_DELIMITERS = 2
"""Field delimiters that make a row of a line with any beginning."""
# The record word, and other marks in place of the delimiters: the number that an entity has.
_OTHER_MARKS = re.compile(
    r"[\W\d_]*+(?:entit(?:y|ies)|relation(?:ship)?s?)(?![^\W\d_])(?P<fields>(?:[^|\t]*+[|\t]){3}.*)", re.IGNORECASE
)

_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’」』)\]*]{0,3}\Z")
_WIDE_SENTENCE_ENDS = ("。", "！", "？")
_FEWEST_WORDS = 4
"""Words of a text that continues a description."""


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """One mention of an entity; name and type are normalised."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """One mention of a relation, in the direction it was written; weight is 1 unless the row has a strength."""

    src: str
    tgt: str
    keywords: str
    description: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Records:
    """The records of an answer, in its order, whether the answer is complete, and the reasons of rejected rows."""

    entities: tuple[EntityRecord, ...]
    relations: tuple[RelationRecord, ...]
    complete: bool
    rejected: tuple[str, ...] = ()

    def adds_nothing_to(self, shorter: "Records") -> bool:
        """Return True if another answer has some records, and these are all of those that are here."""
        known = {*shorter.entities, *shorter.relations}
        return bool(known) and known >= {*self.entities, *self.relations}

    @property
    def is_empty(self) -> bool:
        """True for an answer that says, without any row, that there is nothing."""
        return self.complete and not (self.entities or self.relations or self.rejected)

    @property
    def usable(self) -> bool:
        """True for an answer with a record, and for a complete one without rejected rows."""
        return bool(self.entities or self.relations or self.is_empty)


def make_entity(name: str, kind: str, description: str) -> EntityRecord | Rejected | None:
    """Return the normalised entity; rejected is one with an unusable name, type or description, and a template None."""
    entity = EntityRecord(normalise_name(name), normalise_type(kind), normalise_description(description))
    if any(map(_is_template, ((description, name, kind), (entity.description, entity.name, entity.type)))):
        return None
    if any(map(_PLACEHOLDER_NAME.fullmatch, (name, entity.name))):
        return rejections.PLACEHOLDER
    if not entity.name:
        return rejections.LONG_NAME if len(name) > MAX_NAME_CHARACTERS else rejections.NO_ENTITY_NAME
    if not entity.type:
        return rejections.NO_TYPE
    return entity if entity.description else rejections.NO_ENTITY_DESCRIPTION


def make_relation(
    src: str, tgt: str, keywords: str, description: str, weight: float = 1.0
) -> RelationRecord | Rejected | None:
    """Return the normalised relation; rejected is one with an unusable end or description, and a template None.

    A relation of an entity with itself is rejected too. Keywords may be blank.
    """
    relation = RelationRecord(
        normalise_name(src),
        normalise_name(tgt),
        normalise_keywords(keywords),
        normalise_description(description),
        weight,
    )
    ends, fields = (relation.src, relation.tgt), (relation.description, relation.src, relation.tgt, relation.keywords)
    if any(map(_is_template, ((description, src, tgt, keywords), fields))):
        return None
    if any(map(_PLACEHOLDER_NAME.fullmatch, (src, tgt, *ends))):
        return rejections.PLACEHOLDER
    if not all(ends):
        long = max(len(src), len(tgt)) > MAX_NAME_CHARACTERS
        return rejections.LONG_NAME if long else rejections.NO_END
    if relation.src == relation.tgt:
        return rejections.SELF_LOOP
    return relation if relation.description else rejections.NO_RELATION_DESCRIPTION


def interpret(rows: Sequence[Row]) -> tuple[list[EntityRecord], list[RelationRecord], list[Rejected]]:
    """Return the entities and the relations in rows, and the rejected rows, in their order.

    A relation has source, target, keywords and description. If a strength ends it (as in older prompts: a number,
    or words such as `high`), the description is the field that reads more like one. An entity has name, type and
    description; a strength after them is left out. A fourth text is ambiguous. The row is a relation under the wrong
    tag if the second field is an entity of the answer, or is not a known type and the third does not read more like a
    description than the fourth. In other rows a long fourth text continues the description, and a short one is left
    out.
    """
    records = [_record(row) for row in rows]
    if any(isinstance(record, _WideEntity) for record in records):
        whole = [record for record in records if isinstance(record, EntityRecord)]
        names = {entity.name for entity in whole}
        types = {entity.type for entity in whole} | USUAL_TYPES
        records = [_resolved(record, names, types) if isinstance(record, _WideEntity) else record for record in records]
    return (
        [record for record in records if isinstance(record, EntityRecord)],
        [record for record in records if isinstance(record, RelationRecord)],
        [record for record in records if isinstance(record, Rejected)],
    )


def unread_row(line: str) -> Rejected | None:
    """Return the rejected row for a marked line that `read_rows` does not read and that is meant as one; else None."""
    if line.count(FIELD) >= _FEWEST_DELIMITERS:
        return None if _is_template(line.split(FIELD)) else rejections.NO_RECORD_WORD
    found = None if FIELD in line else _OTHER_MARKS.match(line)
    return rejections.NO_DELIMITERS if found and not _is_template(re.split(r"[|\t]", found["fields"])) else None


class _WideEntity(NamedTuple):
    fields: list[str]
    weight: float | None


def _record(row: Row) -> EntityRecord | RelationRecord | _WideEntity | Rejected | None:
    fields, weight = _fitted(row)
    if row.kind == "entity" and len(fields) == _FIELDS["relation"]:
        return _WideEntity(fields, weight)
    if len(fields) != _FIELDS[row.kind]:
        return None if _is_template(fields) else wrong_fields(row.kind, 1 + len(fields), 1 + _FIELDS[row.kind])
    return make_entity(*fields) if row.kind == "entity" else _relation(fields, weight)


def _is_template(fields: Sequence[str]) -> bool:
    """Return True if fields hold only the placeholders of a prompt."""
    filled = [field for field in map(str.strip, fields) if any(map(str.isalnum, field))]
    return bool(filled) and all(_PLACEHOLDER_NAME.fullmatch(one) or _PLACEHOLDER.fullmatch(one) for one in filled)


def _fitted(row: Row) -> tuple[list[str], float | None]:
    """Return the fields without blanks beyond the number of the kind, and the strength after them."""
    wanted = _FIELDS[row.kind]
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


def _relation(fields: list[str], weight: float | None) -> RelationRecord | Rejected | None:
    src, tgt, third, fourth = fields
    if weight is None:
        return make_relation(src, tgt, third, fourth)
    keywords, description = sorted((third, fourth), key=_prose)  # equal ones keep their order
    return make_relation(src, tgt, keywords, description, weight)


def _resolved(
    row: _WideEntity, names: Container[str], types: Container[str]
) -> EntityRecord | RelationRecord | Rejected | None:
    name, second, third, fourth = row.fields
    known = normalise_type(second) in types
    described = row.weight is None and _prose(third)[0] and not _prose(fourth)[0]
    if normalise_name(second) in names or not (known or described):
        return _relation(row.fields, row.weight)
    continues = len(fourth.split()) >= _FEWEST_WORDS or fourth.endswith(_WIDE_SENTENCE_ENDS)
    return make_entity(name, second, f"{third} {fourth}" if continues else third)


def _prose(field: str) -> tuple[bool, int, int]:
    """Return a rank of a field as a description: a sentence above a phrase, then by length."""
    return _SENTENCE_END.search(field) is not None, len(field.split()), len(field)
