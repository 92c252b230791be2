"""Facts of a snapshot, or of a filtered view of it, read by their rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lightrag_dagster.indexes.adjacency import MappedTable
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.indexes.facts import FactIndex
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.types import Fact, FactCitation

_AT_ONCE = 32
_DAYS = ("value_date", "valid_from", "valid_to", "holds_from", "holds_to")
_NAMED = ("source", "path", "doc_id", "date")


def read_facts(seen: Snapshot, facts: FactIndex, rows: Rows) -> Iterator[Fact]:
    """Yield the facts of some rows, under the names that may be seen; they are read a block at a time."""
    for start in range(0, len(rows), _AT_ONCE):
        block = facts.table.take(rows[start : start + _AT_ONCE])
        ends = {one[end] for one in block for end in ("subject_id", "object_id")} - {None}
        numbers = seen.graph.entities.rows_of(sorted(ends))
        names = {one["entity_id"]: one["name"] for one in seen.graph.entities.take(numbers)}
        places = _places(seen, sorted({said["chunk_id"] for one in block for said in one["evidence"]}))
        for one in block:
            yield _fact(one, names, places)


def _fact(row: dict[str, Any], names: dict[str, str], places: dict[str, dict[str, Any]]) -> Fact:
    dates = {name: row[name].isoformat() if row[name] else None for name in _DAYS}
    citations = tuple(_citation(one, places[one["chunk_id"]]) for one in row.pop("evidence"))
    left_out = row.pop("mention_count") - len(citations)
    known = {"subject": names[row["subject_id"]], "object": names.get(row["object_id"])}
    row |= dates | known | {"contradicts": tuple(row["contradicts"])}
    return Fact(**row, citations=citations, citations_left_out=left_out)


def _places(seen: Snapshot, chunk_ids: list[str]) -> dict[str, dict[str, Any]]:
    """Return for each of some passages its first place that may be seen."""
    graph = seen.graph
    first = graph.citation_offsets[graph.chunks.rows_of(chunk_ids)].astype(np.int32)
    places = MappedTable(graph.citations.select([*_NAMED, "char_start"]), graph.chunks.ids).take(first)
    return dict(zip(chunk_ids, places, strict=True))


def _citation(said: dict[str, Any], place: dict[str, Any]) -> FactCitation:
    start, end = (place["char_start"] + said[name] for name in ("char_start", "char_end"))
    named = {name: place[name] for name in _NAMED}
    return FactCitation(**named, chunk_id=said["chunk_id"], words=said["words"], char_start=start, char_end=end)
