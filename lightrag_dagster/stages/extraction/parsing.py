"""Parsing of a model's answers into records: `parse_response` for one answer, `merge_rounds` for those of a chunk."""

import re
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from lightrag_dagster.core.text.names import unescaped
from lightrag_dagster.stages.extraction.delimiters import END, mark
from lightrag_dagster.stages.extraction.json_answers import read_json
from lightrag_dagster.stages.extraction.reasoning import without_thinking
from lightrag_dagster.stages.extraction.records import EntityRecord, Records, RelationRecord, interpret, unread_row
from lightrag_dagster.stages.extraction.rejections import Rejected
from lightrag_dagster.stages.extraction.tuple_rows import Row, read_rows

__all__ = ["EntityRecord", "Records", "RelationRecord", "merge_rounds", "parse_response"]

Record = TypeVar("Record", EntityRecord, RelationRecord)

_PROSE = re.compile(r"(?!\s*```)[\W\d_]*+.")


def parse_response(text: str, *, truncated: bool = False) -> Records:
    """Return the records of one answer; none for other text. Never raises.

    Rows come first; an answer whose rows hold no record is read as a JSON object. Text after the completion marker is
    not read; the later of two markers counts only if there are only rows between them, since some models close every
    row or every section. `complete` is set if there was a marker, or a complete JSON object. In a `truncated` answer
    without a marker the last row or item is left out, unless a line break ends it. `rejected` has the reason of each
    row that is meant as a record and yields none; see `rejections`.
    """
    sections = without_thinking(mark(text)).split(END)
    complete = len(sections) > 1
    rows, unread = _rows(sections, cut_off=truncated and not complete)
    entities, relations, rejected = interpret(rows)
    if not entities and not relations:
        # A tag that JSON quotes may look like the end of reasoning, so the answer is tried unchanged as well.
        answers = dict.fromkeys((without_thinking(text), text, unescaped(text)))
        read = list(filter(None, (read_json(answer, truncated=truncated) for answer in answers)))
        if read:
            found = next((one for one in read if one.whole or one.entities or one.relations), read[0])
            return _records(found.entities, found.relations, found.rejected, complete=complete or found.whole)
    return _records(entities, relations, unread + rejected, complete=complete)


def merge_rounds(rounds: Sequence[Records]) -> Records:
    """Merge the records of one chunk's rounds: the first answer, then each gleaning in turn.

    A later round adds the entities (by exact name) and relations (by exact pair, with direction) that are new, and
    replaces one if its first description is longer. Replaced records leave the order, their successors join its end.
    The rejected rows are those of all rounds.
    """
    if len(rounds) == 1:
        return rounds[0]
    entities: list[EntityRecord] = []
    relations: list[RelationRecord] = []
    for answer in rounds:
        entities = _gleaned(entities, answer.entities, lambda entity: entity.name)
        relations = _gleaned(relations, answer.relations, lambda relation: (relation.src, relation.tgt))
    rejected = tuple(reason for answer in rounds for reason in answer.rejected)
    return Records(tuple(entities), tuple(relations), all(answer.complete for answer in rounds), rejected)


def _records(
    entities: Sequence[EntityRecord],
    relations: Sequence[RelationRecord],
    rejected: Sequence[Rejected],
    *,
    complete: bool,
) -> Records:
    return Records(tuple(entities), tuple(relations), complete, tuple(one.reason for one in rejected))


def _rows(sections: Sequence[str], *, cut_off: bool) -> tuple[list[Row], list[Rejected]]:
    """Return the rows of an answer that completion markers cut into sections, and lines that are meant as rows."""
    *lines, last = sections[0].split("\n")
    found = [_line(line) for line in lines]
    rows, unread = _line(last)
    # The status of the extraction shows that something was cut off.
    found.append((rows[:-1], None) if cut_off else (rows, unread))
    for section in sections[1:-1]:
        of_section = [(line, *_line(line)) for line in section.split("\n")]
        if any(not rows and not unread and _PROSE.match(line) for line, rows, unread in of_section):
            break
        found += [(rows, unread) for _, rows, unread in of_section]
    return [row for rows, _ in found for row in rows], [unread for _, unread in found if unread]


def _line(line: str) -> tuple[list[Row], Rejected | None]:
    rows = read_rows(line)
    return rows, None if rows else unread_row(line)


def _gleaned(before: Sequence[Record], found: Sequence[Record], key: Callable[[Record], Hashable]) -> list[Record]:
    """Return the records of earlier rounds that stay, and those of this round that are new or longer."""
    lengths = _first_lengths(before, key)
    taken = {name for name, length in _first_lengths(found, key).items() if length > lengths.get(name, 0)}
    return [record for record in before if key(record) not in taken] + [
        record for record in found if key(record) in taken
    ]


def _first_lengths(records: Sequence[Record], key: Callable[[Record], Hashable]) -> dict[Hashable, int]:
    return {key(record): len(record.description) for record in reversed(records)}
