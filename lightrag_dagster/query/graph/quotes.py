"""Quotes about many entities at once: those that `citing` gives for each, by a few statements for all."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Lists, Rows
from lightrag_dagster.query.graph.citing import MOST_NAMES
from lightrag_dagster.query.graph.quoting import quoted
from lightrag_dagster.query.snapshot import Snapshot

_BLOCK = 1_000
"""Entities whose passages are held at once."""


class EntityQuote(NamedTuple):
    """A quote about the entity with a number, from a place among the citations of the graph; `date` as ISO 8601."""

    number: int
    text: str
    citation: int
    date: str | None


def citations_of(graph: Adjacency, chunks: Rows) -> tuple[Rows, Rows]:
    """Return the rows of `citations` of some chunks, and before it for each the position of its chunk among them."""
    offsets = graph.citation_offsets
    return Lists(offsets, np.arange(offsets[-1], dtype=np.int32)).of_each(chunks)


def newest_quotes(seen: Snapshot, rows: Rows, most: int) -> list[EntityQuote]:
    """Return at most `most` quotes about each of some entities, of the newest documents, newest first.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
    """
    found = list[EntityQuote]()
    for start in range(0, len(rows), _BLOCK):
        found += _quotes(seen, rows[start : start + _BLOCK], most, start)
    return found


def _quotes(seen: Snapshot, rows: Rows, most: int, first: int) -> list[EntityQuote]:
    graph = seen.graph
    owners, chunks = graph.entity_chunks.of_each(rows)
    distinct = np.unique(chunks)
    among, at = citations_of(graph, distinct)
    places = graph.citations.select(["source", "path", "chunk_index", "date"]).take(pa.array(at))
    places = places.append_column("chunk", pa.array(distinct[among])).append_column("place", pa.array(at))
    wanted = pa.table({"number": owners, "chunk": chunks})
    tables = {"found_place": places, "wanted_passage": wanted}
    newest = seen.statements.rows("newest_places", tables, most=most).to_pylist()
    ids = graph.entities.ids_at(rows)
    read = sorted({one["chunk"] for one in newest})
    texts = dict(zip(read, graph.chunks.take(np.array(read, dtype=np.int32)), strict=True))
    pairs = {
        "entity_id": [ids[one["number"]] for one in newest],
        "chunk_id": [texts[one["chunk"]]["chunk_id"] for one in newest],
    }
    said = seen.statements.rows("said_of_entities", {"asked": pa.table(pairs, _ASKED)}).to_pylist()
    statements = {(one["entity_id"], one["chunk_id"]): one["statement"] for one in said}
    asked = pa.table({"entity_id": pa.array(ids, pa.string())})
    named = seen.statements.rows("names_of_entities", {"asked": asked}, most=MOST_NAMES).to_pylist()
    names = {one["entity_id"]: one["names"] for one in named}
    shown = [one["name"] for one in graph.entities.take(rows)]
    quotes = []
    for one in newest:
        entity, text = ids[one["number"]], texts[one["chunk"]]
        known = [shown[one["number"]], *names.get(entity, [])]
        start, end = quoted(text["content"], [known], statements.get((entity, text["chunk_id"])) or "")
        quotes.append(EntityQuote(first + one["number"], text["content"][start:end], one["place"], one["date"]))
    return quotes


_ASKED = pa.schema([("entity_id", pa.string()), ("chunk_id", pa.string())])
