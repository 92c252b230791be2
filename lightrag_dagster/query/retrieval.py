"""A question's way through the snapshot: search → expansion → merge → budgets → related chunks → references.

Keywords come before it (`keywords`), the context and the answer after it (`context`, `answer`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from lightrag_dagster.llm.protocol import Vectors
from lightrag_dagster.query.budgets import fitting
from lightrag_dagster.query.context import chunk_line, entity_line, relation_line, render, with_references
from lightrag_dagster.query.expansion import endpoints_of, relations_around
from lightrag_dagster.query.records import chunks_at, entities_at, relations_at
from lightrag_dagster.query.related import assign, pick
from lightrag_dagster.query.round_robin import round_robin
from lightrag_dagster.query.search import Found, plan, search
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.settings import QuerySettings
from lightrag_dagster.stores.adjacency import Lists

# LightRAG keeps no more chunks of an entity or relation; the tables here keep all, and a question takes the first.
_CHUNKS_OF_ONE_OWNER = 200

Owners = list[list[int]]
"""The chunks behind each entity or relation, best first."""


def retrieve(
    snapshot: Snapshot,
    query: str,
    keywords: Keywords,
    settings: QuerySettings,
    embed: Callable[[Sequence[str]], Vectors],
    count: Callable[[str], int],
    reserved: int,
) -> Retrieval:
    """Find what the model should see of the snapshot to answer the question.

    Args:
        snapshot: where to look.
        query: the question.
        keywords: what it is about; not used in mode naive.
        settings: mode, limits and budgets; any mode but bypass.
        embed: gives unit vectors for questions.
        count: gives the length of a text. Tokens.
        reserved: what of the total budget instructions and question take. Tokens.
    """
    graph = snapshot.graph
    found = search(snapshot, query, plan(settings.mode, keywords), settings, embed)

    near, linked = graph.entities.rows_of(list(found.entities)), graph.relations.rows_of(list(found.relations))
    entity_rows = round_robin(near.tolist(), endpoints_of(graph, linked))
    relation_rows = round_robin(relations_around(graph, near), linked.tolist())

    entities = tuple(
        fitting(entities_at(graph, entity_rows, found.entities), entity_line, count, settings.max_entity_tokens)
    )
    relations = tuple(
        fitting(relations_at(graph, relation_rows, found.relations), relation_line, count, settings.max_relation_tokens)
    )

    # What fits is what comes first, so rows and records stay in step.
    behind_entities = _owners(graph.entity_chunks, entity_rows[: len(entities)])
    behind_relations = _owners(graph.relation_chunks, relation_rows[: len(relations)])
    chunk_rows, similarity = _chunks(snapshot, found, behind_entities, behind_relations, settings.related_chunk_number)

    retrieval = Retrieval(
        query=query,
        mode=settings.mode,
        snapshot_id=snapshot.manifest.snapshot_id,
        keywords=keywords,
        entities=entities,
        relations=relations,
    )
    left = settings.max_total_tokens - reserved - count(render(retrieval))
    chunks, references = with_references(
        tuple(fitting(chunks_at(graph, chunk_rows[: settings.chunk_top_k], similarity), chunk_line, count, left))
    )
    return replace(retrieval, chunks=chunks, references=references)


def _chunks(
    snapshot: Snapshot, found: Found, behind_entities: Owners, behind_relations: Owners, number: int
) -> tuple[list[int], dict[int, float]]:
    """Return the chunks found and those behind entities and relations, merged, and their similarity to the question."""
    similarity = _similarity(snapshot, found, {*chain.from_iterable(behind_entities + behind_relations)})
    of_entities = pick(assign(behind_entities), number, similarity)
    owned_by_relations = [chunks for chunks in assign(behind_relations, set(of_entities)) if chunks]
    of_relations = pick(owned_by_relations, number, similarity)
    hits = snapshot.graph.chunks.rows_of(list(found.chunks)).tolist()
    return round_robin(hits, of_entities, of_relations), similarity | dict(
        zip(hits, found.chunks.values(), strict=True)
    )


def _owners(lists: Lists, rows: Sequence[int]) -> Owners:
    """Return the first chunks of each row that has any."""
    chunks = (lists.of(row)[:_CHUNKS_OF_ONE_OWNER].tolist() for row in rows)
    return [own for own in chunks if own]


def _similarity(snapshot: Snapshot, found: Found, chunk_rows: set[int]) -> dict[int, float]:
    """Return the cosine similarity to the question of every chunk that has a vector."""
    rows = np.array(sorted(chunk_rows), dtype=np.int32)
    ids = snapshot.graph.chunks.ids_at(rows)
    vectors = snapshot.vectors["chunk_vectors"].vectors(ids)
    known = [(row, vectors[chunk_id]) for row, chunk_id in zip(rows.tolist(), ids, strict=True) if chunk_id in vectors]
    if not known:
        return {}
    similarities = np.stack([vector for _, vector in known]) @ found.question
    return dict(zip((row for row, _ in known), similarities.tolist(), strict=True))
