"""Quotes of the passages behind an entity or relation, newest document first."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.query.graph.quoting import quoted
from lightrag_dagster.query.graph.types import Quote
from lightrag_dagster.query.snapshot import Snapshot

MOST_NAMES = 200
"""Most names of an entity that are looked for in a passage."""


class Cited(NamedTuple):
    """Quotes, newest first, and the number of further passages."""

    quotes: tuple[Quote, ...]
    left_out: int


def evidence_of(
    seen: Snapshot, kind: Literal["entity", "relation"], row: int, names: Sequence[Collection[str]], limit: int
) -> Cited:
    """Quote the passages that support an entity or relation, each where a name of each group is.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
    """
    graph = seen.graph
    table, lists = {
        "entity": (graph.entities, graph.entity_chunks),
        "relation": (graph.relations, graph.relation_chunks),
    }[kind]
    chunks = lists.of(row)
    if not len(chunks):
        return Cited((), 0)
    places = _places(graph, chunks)
    found = seen.statements.rows("places", {"found_place": places}, most=limit).to_pylist()
    texts = graph.chunks.take(np.array([one["chunk"] for one in found], dtype=np.int32))
    (row_id,) = table.ids_at(np.array([row], dtype=np.int32))
    said = seen.statements.rows(f"{kind}_statements", row=row_id, chunks=[text["chunk_id"] for text in texts])
    statements = dict(zip(said["chunk_id"].to_pylist(), said["statement"].to_pylist(), strict=True))
    quotes = []
    for one, text in zip(found, texts, strict=True):
        (place,) = places.slice(one["place"], 1).to_pylist()
        said_here = statements.get(text["chunk_id"], "")
        start, end = quoted(text["content"], names, said_here)
        quotes.append(
            Quote(
                text=text["content"][start:end],
                statement=said_here,
                chunk_id=text["chunk_id"],
                **{name: place[name] for name in ("source", "path", "doc_id", "page", "page_end")},
                date=one["date"],
                heading=place.get("heading"),
                char_start=place["char_start"] + start,
                char_end=place["char_start"] + end,
                places=one["places"],
            )
        )
    return Cited(tuple(quotes), len(chunks) - len(quotes))


def names_of(seen: Snapshot, entity: int, shown: str) -> list[str]:
    """Return the names of an entity to look for in passages: the most frequent, and the one that is shown."""
    ids = seen.graph.entities.ids_at(np.array([entity], dtype=np.int32))
    names: list[str] = seen.statements.rows("aliases", entities=ids)["name"].to_pylist()
    return [shown, *names[:MOST_NAMES]]


def sources_of(graph: Adjacency, chunks: Rows) -> tuple[str, ...]:
    """Return the sources in which passages are, sorted."""
    return tuple(sorted(_places(graph, chunks)["source"].unique().to_pylist())) if len(chunks) else ()


def _places(graph: Adjacency, chunks: Rows) -> pa.Table:
    """Return the places of passages that may be seen, with the passage and a number of their own."""
    offsets = graph.citation_offsets
    first, end = offsets[chunks], offsets[chunks + 1]
    # Slices, as `MappedTable.take`.
    slices = [
        graph.citations.slice(start, stop - start) for start, stop in zip(first.tolist(), end.tolist(), strict=True)
    ]
    places = pa.concat_tables(slices)
    owners = pa.array(np.repeat(chunks, end - first))
    return places.append_column("chunk", owners).append_column("place", pa.array(np.arange(len(owners))))
