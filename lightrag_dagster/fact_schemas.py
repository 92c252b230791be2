"""Schemas of what passes read: their responses, the facts in these, and the facts of all sources merged.

A table of one pass has its own versions, under the name of the table and that of the pass: `facts@contracts`.
"""

import pyarrow as pa

from lightrag_dagster.schemas import ENTITY_EVIDENCE, EXTRACTIONS, column, table

OF_COLUMNS = "columns"
"""The pass of sources whose settings map columns to facts."""

_PASS = column("pass", pa.string(), "The pass: a file of `readings`, or `columns` where those of a table state facts.")

READINGS = table(*[*EXTRACTIONS][:2], _PASS, *[*EXTRACTIONS][2:])

_PRECISION = "day, month or year; unread where the words say it, and only the other end is a date."

_SAID = [
    column("subject", pa.string(), "Name of what the fact is about, as read."),
    column("subject_type", pa.string(), "Its type, lower case."),
    column("relation", pa.string(), "Relation of the pass's schema."),
    column("object", pa.string(), "Name at the other end; null where the relation has a value.", nullable=True),
    column("object_type", pa.string(), "Its type, lower case.", nullable=True),
    column("value", pa.string(), "The value as written.", nullable=True),
    column("value_kind", pa.string(), "number, date, text or yes/no.", nullable=True),
    column("number", pa.float64(), "The value as a number; 1 or 0 of yes/no.", nullable=True),
    column("unit", pa.string(), "Unit of the number, words in small letters, or a currency code.", nullable=True),
    column("value_date", pa.date32(), "The value as a date: of a month or a year its first day.", nullable=True),
    column("when_words", pa.string(), "When it holds, as written; also where no date could be read.", nullable=True),
    column("valid_from", pa.date32(), "First day on which it holds, if the words say it.", nullable=True),
    column("from_precision", pa.string(), _PRECISION, nullable=True),
    column("valid_to", pa.date32(), "Last day.", nullable=True),
    column("to_precision", pa.string(), _PRECISION, nullable=True),
    column("single", pa.bool_(), "Whether a subject has one such object or value at a time, as the schema says."),
]
_STANDS = [
    column("words", pa.string(), "The words of the chunk that say it."),
    column("char_start", pa.int64(), "First character of these words in the chunk."),
    column("char_end", pa.int64(), "One past the last."),
]

FACTS = table(
    *map(READINGS.field, ("source", "chunk_id", "pass", "extraction_key")),
    column("fact_index", pa.int32(), "Position of the fact in the chunk's answers."),
    *_SAID,
    *_STANDS,
)

READ_FACTS = table(
    *map(READINGS.field, ("source", "chunk_id", "pass", "extraction_key")),
    column("facts", pa.int32(), "Facts that the responses yield."),
    column("rejected_rows", pa.int32(), "Rows that are meant as a fact and yield none."),
    column("open_dates", pa.int32(), "Facts with words for a time of which no date could be read, or only one of two."),
    column("reason", pa.string(), "The most frequent reason of a rejection.", nullable=True),
)

_MERGED_IDS = [
    column("fact_id", pa.string(), "fact- and a hash of what it says, and when that holds."),
    column("subject_id", pa.string(), "The entity that it is about."),
    column("object_id", pa.string(), "The entity at the other end.", nullable=True),
]

FACT_EVIDENCE = table(
    *_MERGED_IDS,
    column("chunk_id", pa.string(), "The chunk that says it."),
    column("pass", pa.string(), "The pass that read it."),
    column("fact_index", pa.int32(), "Position of the fact in the chunk's answers of that pass."),
    *map(ENTITY_EVIDENCE.field, ("source", "doc_id", "path", "extraction_key")),
    *_SAID,
    *_STANDS,
)

MERGED_FACTS = table(
    *_MERGED_IDS[:2],
    column("subject", pa.string(), "Display name of subject_id."),
    column("relation", pa.string(), "Relation of the schema."),
    _MERGED_IDS[2],
    column("object", pa.string(), "Display name of object_id.", nullable=True),
    *_SAID[5:],
    column("passes", pa.list_(pa.string()), "The passes that read it, sorted."),
    column("chunk_ids", pa.list_(pa.string()), "The chunks that say it, sorted."),
    column("sources", pa.list_(pa.string()), "The sources of these chunks, sorted."),
    column("mention_count", pa.int64(), "Rows of fact_evidence."),
    column("row_hash", pa.string(), "Hash of every other column."),
)

PASS_TABLES: dict[str, pa.Schema] = {"readings": READINGS, "facts": FACTS, "read_facts": READ_FACTS}
"""Tables with one immutable version a source and pass; the last two are made from the first."""

MERGED_PASS_TABLES: dict[str, pa.Schema] = {"merged_facts": MERGED_FACTS, "fact_evidence": FACT_EVIDENCE}
"""Tables of a generation that merges a pass; another has none of them."""

PASS_SORT_KEYS: dict[str, tuple[str, ...]] = {
    "readings": ("chunk_id",),
    "facts": ("chunk_id", "fact_index"),
    "read_facts": ("chunk_id",),
    "merged_facts": ("fact_id",),
    "fact_evidence": ("fact_id", "chunk_id", "pass", "fact_index"),
}


def of_pass(table: str, name: str) -> str:
    """Return the name under which a table of one pass has its versions."""
    return f"{table}@{name}"


def split_pass(table: str) -> tuple[str, str]:
    """Return the name of a table, and that of its pass; the latter is empty if it is of none."""
    kind, _, name = table.partition("@")
    return kind, name


def kind_of(table: str) -> str:
    """Return the name of a table without that of its pass, if it is of one."""
    return split_pass(table)[0]
