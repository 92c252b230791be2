"""Parsing of a model's answers into records: `parse_response` for one answer, `merge_rounds` for those of a chunk."""

import re
from collections.abc import Callable, Hashable, Sequence

from lightrag_dagster.core.text.names import unescaped
from lightrag_dagster.stages.extraction import rejections
from lightrag_dagster.stages.extraction.delimiters import END, FIELD, TAG, mark
from lightrag_dagster.stages.extraction.echoes import Echoes, Record
from lightrag_dagster.stages.extraction.foreign_tags import with_our_tags
from lightrag_dagster.stages.extraction.json_answers import read_json
from lightrag_dagster.stages.extraction.reasoning import without_thinking
from lightrag_dagster.stages.extraction.records import EntityRecord, Records, RelationRecord, interpret, unread_row
from lightrag_dagster.stages.extraction.rejections import Rejected
from lightrag_dagster.stages.extraction.tuple_rows import Row, read_rows

__all__ = ["MOST_ROWS", "EntityRecord", "Records", "RelationRecord", "merge_rounds", "parse_response"]

MOST_ROWS = 400
"""Records that one answer of a language model may have: four times as many as the prompt allows."""

_LAST_TAG = re.compile(r"</(?:final_)?(?:answer|output|response|result)>\s*\Z", re.IGNORECASE)
_MOST_CHARACTERS = 4_000_000

_PROSE = re.compile(r"(?!\s*```)[\W\d_]*+.")
# A title, or the first word of a remark.
_REMARK = re.compile(
    rf"(?:\W*+\w++){{0,3}}?\W*+\b{TAG}\W*\Z|(?:i|i['’]\w+|here|not?e?|nothing|now|next|let|please|sure|ok|okay|these|all|end"
    r"|done|hope)\b",
    re.IGNORECASE,
)
_TWO_WORDS = re.compile(r"[^\W_]\s+[^\W_]|[\u3040-\u9fff]{3}")
_STEM = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]{2}|[^\W\d_]{4}")


def parse_response(
    text: str,
    *,
    truncated: bool = False,
    passage: str = "",
    echoes: Echoes | None = None,
    most_rows: int | None = MOST_ROWS,
) -> Records:
    """Return the records of one answer; none for other text. Never raises.

    Rows come first; an answer whose rows hold no record is read as JSON. Text after the completion marker is not read;
    the later of two markers counts only if there are only rows between them, since some models close every row or every
    section. `complete` is set if there was a marker, or complete JSON. In a `truncated` answer without a marker the
    last row or item is left out, unless a line break ends it. Equal records count once, and those beyond `most_rows`
    are rejected. `rejected` has the reason of each row that is meant as a record and yields none; see
    `rejections`. `passage` is the text of the chunk, empty if it is not known; where it is, `echoes` of the prompt are
    rejected too.
    """
    long, text = len(text) > _MOST_CHARACTERS, text[:_MOST_CHARACTERS]
    truncated |= long
    text = _LAST_TAG.sub("\n", text)
    marked = without_thinking(mark(text))
    sections = marked.split(END)
    complete = len(sections) > 1
    rows, unread = _rows(sections, passage, cut_off=truncated and not complete)
    if rejections.NO_RECORD_WORD in unread and (ours := with_our_tags(marked)) != marked:
        rows, unread = _rows(ours.split(END), passage, cut_off=truncated and not complete)
    entities, relations, rejected = interpret(rows)
    rejected = unread + rejected
    if not entities and not relations:
        # A tag that JSON quotes may look like the end of reasoning, so the answer is tried unchanged as well.
        answers = dict.fromkeys((without_thinking(text), text, unescaped(text)))
        read = list(filter(None, (read_json(answer, truncated=truncated) for answer in answers)))
        if read:
            found = next((one for one in read if one.whole or one.entities or one.relations), read[0])
            entities, relations, rejected = found.entities, found.relations, list(found.rejected)
            complete |= found.whole
    entities = list(dict.fromkeys(entities))
    relations = list(dict.fromkeys(relations))
    if echoes and passage:
        entities, repeated = echoes.divide(entities, passage)
        relations, others = echoes.divide(relations, passage)
        rejected += repeated + others
    kept = len(entities) + len(relations) if most_rows is None else most_rows
    # One answer that runs away counts once, since its rows could withhold a source of many.
    rejected += [rejections.TOO_MANY] * (len(entities) + len(relations) > kept) + [rejections.TOO_LONG] * long
    kept_entities, kept_relations = entities[:kept], relations[: max(0, kept - len(entities))]
    return Records(tuple(kept_entities), tuple(kept_relations), complete, tuple(one.reason for one in rejected))


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


def _rows(sections: Sequence[str], passage: str, *, cut_off: bool) -> tuple[list[Row], list[Rejected]]:
    """Return the rows of an answer that completion markers cut into sections, and lines that are meant as rows."""
    *lines, last = sections[0].split("\n")
    found: list[tuple[list[Row], Rejected | None]] = []
    open_row: Row | None = None
    for line in lines:
        rows, unread = _line(line)
        if rows or unread or not (open_row and _goes_on(line, open_row, passage)):
            found.append((rows, unread))
            open_row = rows[-1] if rows and rows[-1].fields else None
        else:
            open_row.fields[-1] = f"{open_row.fields[-1]} {line.strip()}".strip()
    rows, unread = _line(last)
    if not cut_off and not rows and not unread and open_row and _goes_on(last, open_row, passage):
        open_row.fields[-1] = f"{open_row.fields[-1]} {last.strip()}".strip()
    # The status of the extraction shows that something was cut off.
    found.append((rows[:-1], None) if cut_off else (rows, unread))
    for section in sections[1:-1]:
        of_section = [(line, *_line(line)) for line in section.split("\n")]
        if any(not rows and not unread and _PROSE.match(line) for line, rows, unread in of_section):
            break
        found += [(rows, unread) for _, rows, unread in of_section]
    return [row for rows, _ in found for row in rows], [unread for _, unread in found if unread]


def _goes_on(line: str, row: Row, passage: str) -> bool:
    """Return True if a line continues the description of the row before it; a remark has no word of the text."""
    line = line.strip()
    if FIELD in line or not line[:1].isalnum() or line.endswith((":", "：")):
        return False
    if _REMARK.match(line) or not _TWO_WORDS.search(line):
        return False
    known = f"{passage} {' '.join(row.fields)}".casefold()
    return not passage or any(stem in known for stem in _STEM.findall(line.casefold()))


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
