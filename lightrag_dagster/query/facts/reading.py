"""Facts of a snapshot, or of a filtered view of it, read by their rows."""

from collections.abc import Iterator
from typing import Any

from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.indexes.facts import FactIndex
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.types import Fact, FactCitation

_AT_ONCE = 32


def read_facts(seen: Snapshot, facts: FactIndex, rows: Rows) -> Iterator[Fact]:
    """Yield the facts of some rows, under the names that may be seen; they are read a block at a time."""
    for start in range(0, len(rows), _AT_ONCE):
        block = facts.table.take(rows[start : start + _AT_ONCE])
        ends = {one[end] for one in block for end in ("subject_id", "object_id")} - {None}
        numbers = seen.graph.entities.rows_of(sorted(ends))
        names = {one["entity_id"]: one["name"] for one in seen.graph.entities.take(numbers)}
        for one in block:
            yield _fact(seen, one, names)


def _fact(seen: Snapshot, row: dict[str, Any], names: dict[str, str]) -> Fact:
    days = ("value_date", "valid_from", "valid_to", "holds_from", "holds_to")
    dates = {name: row[name].isoformat() if row[name] else None for name in days}
    citations = tuple(_citation(seen, one) for one in row.pop("evidence"))
    left_out = row.pop("mention_count") - len(citations)
    known = {"subject": names[row["subject_id"]], "object": names.get(row["object_id"])}
    row |= dates | known | {"contradicts": tuple(row["contradicts"])}
    return Fact(**row, citations=citations, citations_left_out=left_out)


def _citation(seen: Snapshot, said: dict[str, Any]) -> FactCitation:
    """Return the first place that may be seen of the passage that states a fact."""
    (chunk,) = seen.graph.chunks.rows_of([said["chunk_id"]])
    place = seen.graph.citations_of(int(chunk))[0]
    named = {name: place[name] for name in ("source", "path", "doc_id", "date")}
    start, end = (place["char_start"] + said[name] for name in ("char_start", "char_end"))
    return FactCitation(**named, chunk_id=said["chunk_id"], words=said["words"], char_start=start, char_end=end)
