"""A snapshot as if it held the allowed documents alone: what a filter makes of it.

Rows keep their numbers, so that every step and every mode works as on the whole. What is not allowed is in no list and
no search result, and what is shown of the rest is rebuilt from allowed evidence. Only the vectors are those of the
whole: they decide what comes first, and show nothing.
"""

from dataclasses import dataclass, replace
from importlib.resources import files as package_files
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.errors import QueryError, StoreError, one_line
from lightrag_dagster.indexes.adjacency import Adjacency, KeyedTable, Lists, Rows, priority_of
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.query.allowed_vectors import AllowedVectors
from lightrag_dagster.query.evidence import Evidence, as_endpoint, joined, joined_keywords, merged_entity
from lightrag_dagster.query.question import Filters
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.settings import MergingSettings

Mask = npt.NDArray[np.bool_]


def allowed_documents(connection: "duckdb.DuckDBPyConnection", filters: Filters) -> pa.Array:
    """Return the ids of the documents that pass, from the views of a generation.

    Raises:
        QueryError: a source is named that the snapshot does not hold.
    """
    held = {source for (source,) in connection.execute("SELECT DISTINCT source FROM raw_documents").fetchall()}
    for source in filters.sources:
        if source not in held:
            raise QueryError(f"there is no source {source!r} in the snapshot; `lightrag-dagster status` lists them")
    statement = package_files(__package__).joinpath("allowed_documents.sql").read_text(encoding="utf-8")
    lists = {name: list(getattr(filters, name)) for name in ("sources", "paths", "media_types", "documents")}
    parameters = lists | {"modified_since": filters.modified_since}
    return pa.array([doc_id for (doc_id,) in connection.execute(statement, parameters).fetchall()], pa.string())


def scoped(snapshot: Snapshot, filters: Filters, settings: MergingSettings) -> Snapshot:
    """Return the snapshot as if it held the allowed documents alone.

    Raises:
        QueryError: a source is named that the snapshot does not hold.
        StoreError: a table is missing or damaged.
    """
    connection = duckdb.connect()
    create_views(connection, snapshot.generation)
    try:
        return _restricted(snapshot, connection, allowed_documents(connection, filters))
    except duckdb.Error as error:
        generation = snapshot.generation.id
        raise StoreError(f"the tables of {generation} cannot be filtered: {one_line(error)}; run again") from error


def _restricted(snapshot: Snapshot, connection: duckdb.DuckDBPyConnection, documents: pa.Array) -> Snapshot:
    whole = snapshot.graph
    here = pc.is_in(whole.citations.column("doc_id"), value_set=documents)
    places = _of_chunks(whole)[np.asarray(here)]
    places_of_chunk = np.bincount(places, minlength=len(whole.chunks.ids))
    chunks = places_of_chunk > 0

    relation_chunks = _within(whole.relation_chunks, chunks)
    relations = _lengths(relation_chunks) > 0
    entity_relations = _within(whole.entity_relations, relations)
    entity_chunks = _with_endpoints(_within(whole.entity_chunks, chunks), entity_relations, relation_chunks)
    entities = _lengths(entity_chunks) > 0

    evidence = Evidence(connection, whole.chunks.ids_at(np.flatnonzero(chunks).astype(np.int32)))
    degree = _lengths(entity_relations)
    rank = degree[whole.endpoints].sum(axis=1)
    weight = _weights(whole.relations, evidence)
    entity_table = _Entities(
        whole.entities.rows,
        whole.entities.ids,
        _all_in(whole.entity_chunks, chunks),
        evidence,
        degree,
        entity_relations,
        whole.relations,
    )
    graph = replace(
        whole,
        entities=entity_table,
        relations=_Relations(
            whole.relations.rows,
            whole.relations.ids,
            _all_in(whole.relation_chunks, chunks),
            evidence,
            rank,
            weight,
            entity_table,
            whole.endpoints,
        ),
        citations=whole.citations.filter(here),
        citation_offsets=_offsets(places_of_chunk),
        priority=priority_of(rank, weight),
        entity_relations=entity_relations,
        entity_chunks=entity_chunks,
        relation_chunks=relation_chunks,
    )
    allowed = {
        "chunk_vectors": (whole.chunks, chunks),
        "entity_vectors": (whole.entities, entities),
        "relation_vectors": (whole.relations, relations),
    }
    vectors = {name: AllowedVectors(snapshot.vectors[name], *allowed[name]) for name in snapshot.vectors}
    return replace(snapshot, graph=graph, vectors=vectors)


@dataclass(frozen=True)
class _Entities(KeyedTable):
    """Entities, rebuilt unless all chunks that they were merged from are allowed."""

    whole: Mask
    evidence: Evidence
    degree: npt.NDArray[np.int64]
    relations_of: Lists
    relations: KeyedTable

    def take(self, rows: Rows) -> list[dict[str, Any]]:
        published = {row["entity_id"]: row for row in super().take(rows[self.whole[rows]])}
        rebuilt = self._rebuilt(rows[~self.whole[rows]])
        return [
            {**(published.get(one) or rebuilt[one]), "degree": int(self.degree[row])}
            for one, row in zip(self.ids_at(rows), rows.tolist(), strict=True)
        ]

    def _rebuilt(self, rows: Rows) -> dict[str, dict[str, Any]]:
        mentions = self.evidence.of_entities(self.ids_at(rows))
        named = {one: row for one, row in zip(self.ids_at(rows), rows.tolist(), strict=True) if one not in mentions}
        around = {one: self.relations.ids_at(self.relations_of.of(row)) for one, row in named.items()}
        said = self.evidence.of_relations(sorted({relation for ids in around.values() for relation in ids}))
        for one, ids in around.items():
            mentions[one] = as_endpoint(one, (mention for relation in ids for mention in said[relation]))
        return {one: {"entity_id": one, **merged_entity(of_one)._asdict()} for one, of_one in mentions.items()}


@dataclass(frozen=True)
class _Relations(KeyedTable):
    """Relations, rebuilt unless all chunks that they were merged from are allowed."""

    whole: Mask
    evidence: Evidence
    rank: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    entities: _Entities
    endpoints: npt.NDArray[np.int32]

    def take(self, rows: Rows) -> list[dict[str, Any]]:
        published = {row["relation_id"]: row for row in super().take(rows[self.whole[rows]])}
        said = self.evidence.of_relations(self.ids_at(rows[~self.whole[rows]]))
        ends = np.unique(self.endpoints[rows])
        names = {row["entity_id"]: row["name"] for row in self.entities.take(ends)}
        taken = []
        for one, row in zip(self.ids_at(rows), rows.tolist(), strict=True):
            src_id, tgt_id = self.entities.ids_at(self.endpoints[row])
            src, tgt = names[src_id], names[tgt_id]
            if one in published:
                keywords, description = published[one]["keywords"], published[one]["description"]
            else:
                keywords = joined_keywords(said[one])
                description = joined(mention.description for mention in said[one]) or f"{src} — {tgt}"
            taken.append(
                {
                    "relation_id": one,
                    "src_id": src_id,
                    "tgt_id": tgt_id,
                    "src": src,
                    "tgt": tgt,
                    "keywords": keywords,
                    "description": description,
                    "weight": float(self.weight[row]),
                    "rank": int(self.rank[row]),
                }
            )
        return taken


def _of_chunks(graph: Adjacency) -> npt.NDArray[np.int64]:
    """Return the chunk that each citation is of."""
    return np.repeat(np.arange(len(graph.chunks.ids)), np.diff(graph.citation_offsets))


def _lengths(lists: Lists) -> npt.NDArray[np.int64]:
    return np.diff(lists.offsets)


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _owners(lists: Lists) -> npt.NDArray[np.int64]:
    """Return the row that each value is in the list of."""
    return np.repeat(np.arange(len(lists.offsets) - 1), _lengths(lists))


def _within(lists: Lists, allowed: Mask) -> Lists:
    """Return the lists without values that are not allowed."""
    kept = allowed[lists.values]
    return _lists(_owners(lists)[kept], lists.values[kept], len(lists.offsets) - 1)


def _lists(owners: npt.NDArray[np.int64], values: Rows, number: int) -> Lists:
    """Return lists from pairs of owner and value, which are sorted by owner."""
    return Lists(_offsets(np.bincount(owners, minlength=number)), values)


def _all_in(lists: Lists, allowed: Mask) -> Mask:
    """Say of every row whether all values of its list are allowed."""
    others = np.bincount(_owners(lists)[~allowed[lists.values]], minlength=len(lists.offsets) - 1)
    return np.equal(others, 0)


def _with_endpoints(entity_chunks: Lists, entity_relations: Lists, relation_chunks: Lists) -> Lists:
    """Give the entities that no allowed chunk mentions the chunks of the relations that name them."""
    lengths = _lengths(entity_chunks)
    named = np.flatnonzero((lengths == 0) & (_lengths(entity_relations) > 0))
    if not len(named):
        return entity_chunks
    chunks = {row: relation_chunks.of_any(entity_relations.of(row)) for row in named.tolist()}
    owners = np.concatenate([_owners(entity_chunks), *(np.full(len(of), row) for row, of in chunks.items())])
    values = np.concatenate([entity_chunks.values, *chunks.values()])
    order = np.argsort(owners, kind="stable")
    return _lists(owners[order], values[order], len(lengths))


def _weights(relations: KeyedTable, evidence: Evidence) -> npt.NDArray[np.float64]:
    found = evidence.weights()
    weights = np.zeros(len(relations.ids))
    weights[relations.rows_of(list(found))] = list(found.values())
    return weights
