"""Quotes of the passages behind entities and relations, newest document first."""

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from lightrag_dagster.indexes.adjacency import Adjacency, rows_at
from lightrag_dagster.indexes.arrays import Lists, Rows
from lightrag_dagster.query.graph.quoting import quoted
from lightrag_dagster.query.graph.types import Quote
from lightrag_dagster.query.snapshot import Snapshot

Kind = Literal["entity", "relation"]

_MOST_NAMES = 200
"""Most names of an entity that are looked for in a passage, besides the one that is shown."""

_BLOCK = 1_000
"""Entities whose passages are held at once."""

_ASKED = pa.schema([("id", pa.string()), ("chunk_id", pa.string())])


class FoundQuote(NamedTuple):
    """A quote about the entity or relation with a number, from a place among the citations of the graph.

    `date` is in ISO 8601, `start` the first character in the passage, and `places` the number of places of that.
    """

    number: int
    text: str
    statement: str
    chunk_id: str
    start: int
    citation: int
    date: str | None
    places: int


class Cited(NamedTuple):
    """Quotes, newest first, and the number of further passages."""

    quotes: tuple[Quote, ...]
    left_out: int


def evidence_of(seen: Snapshot, kind: Kind, row: int, names: Sequence[Collection[str]], limit: int) -> Cited:
    """Quote the passages that support an entity or relation, each where a name of each group is.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
    """
    quotes = []
    for one in _quotes(seen, kind, np.array([row], dtype=np.int32), [names], limit):
        (place,) = seen.graph.citations.slice(one.citation, 1).to_pylist()
        quotes.append(
            Quote(
                text=one.text,
                statement=one.statement,
                chunk_id=one.chunk_id,
                **{name: place[name] for name in ("source", "path", "doc_id", "page", "page_end")},
                date=one.date,
                heading=place.get("heading"),
                char_start=place["char_start"] + one.start,
                char_end=place["char_start"] + one.start + len(one.text),
                places=one.places,
            )
        )
    return Cited(tuple(quotes), len(_passages(seen.graph, kind).of(row)) - len(quotes))


def newest_quotes(seen: Snapshot, rows: Rows, most: int) -> list[FoundQuote]:
    """Return at most `most` quotes about each of some entities, of the newest documents, newest first.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
    """
    found = list[FoundQuote]()
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        names = [[one] for one in names_of(seen, block)]
        found += (one._replace(number=start + one.number) for one in _quotes(seen, "entity", block, names, most))
    return found


def names_of(seen: Snapshot, rows: Rows) -> list[list[str]]:
    """Return the names of each entity to look for in passages: the one that is shown, and the most frequent."""
    entities = seen.graph.entities.take(rows)
    asked = pa.table({"entity_id": pa.array([one["entity_id"] for one in entities], pa.string())})
    named = seen.statements.rows("names_of_entities", {"asked": asked}, most=_MOST_NAMES).to_pylist()
    names = {one["entity_id"]: one["names"] for one in named}
    return [[one["name"], *names.get(one["entity_id"], [])] for one in entities]


def sources_of(graph: Adjacency, chunks: Rows) -> tuple[str, ...]:
    """Return the sources in which passages are, sorted."""
    _, places = citations_of(graph, chunks)
    return tuple(sorted(rows_at(graph.citations, places)["source"].unique().to_pylist()))


def citations_of(graph: Adjacency, chunks: Rows) -> tuple[Rows, Rows]:
    """Return the rows of `citations` of some chunks, and before it for each the position of its chunk among them."""
    offsets = graph.citation_offsets
    return Lists(offsets, np.arange(offsets[-1], dtype=np.int32)).of_each(chunks)


def _passages(graph: Adjacency, kind: Kind) -> Lists:
    return graph.entity_chunks if kind == "entity" else graph.relation_chunks


def _quotes(
    seen: Snapshot, kind: Kind, rows: Rows, names: Sequence[Sequence[Collection[str]]], most: int
) -> list[FoundQuote]:
    """Return at most `most` quotes about each of some entities or relations, each where a name of each group is."""
    graph = seen.graph
    owners, chunks = _passages(graph, kind).of_each(rows)
    distinct = np.unique(chunks)
    among, at = citations_of(graph, distinct)
    places = rows_at(graph.citations.select(["source", "path", "chunk_index", "date"]), at)
    places = places.append_column("chunk", pa.array(distinct[among])).append_column("place", pa.array(at))
    tables = {"found_place": places, "wanted_passage": pa.table({"number": owners, "chunk": chunks})}
    newest = seen.statements.rows("newest_places", tables, most=most).to_pylist()
    read = sorted({one["chunk"] for one in newest})
    texts = dict(zip(read, graph.chunks.take(np.array(read, dtype=np.int32)), strict=True))
    ids = (graph.entities if kind == "entity" else graph.relations).ids_at(rows)
    pairs = [{"id": ids[one["number"]], "chunk_id": texts[one["chunk"]]["chunk_id"]} for one in newest]
    said = seen.statements.rows(f"{kind}_statements", {"asked": pa.Table.from_pylist(pairs, _ASKED)}).to_pylist()
    statements = {(one["id"], one["chunk_id"]): one["statement"] for one in said}

    def found(one: dict[str, Any]) -> FoundQuote:
        text, number = texts[one["chunk"]], one["number"]
        statement = statements.get((ids[number], text["chunk_id"])) or ""
        start, end = quoted(text["content"], names[number], statement)
        words = text["content"][start:end]
        return FoundQuote(number, words, statement, text["chunk_id"], start, one["place"], one["date"], one["places"])

    return [*map(found, newest)]
