"""A question's way through the snapshot: find → budgets → related chunks → rerank → references.

Keywords come before it (`keywords`), the context and the answer after it (`context`, `answer`, `cited`).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lightrag_dagster.errors import ProviderError
from lightrag_dagster.query.budgets import fitting
from lightrag_dagster.query.context import chunk_line, entity_line, relation_line, render, with_references
from lightrag_dagster.query.modes import MODES, Found
from lightrag_dagster.query.records import chunks_at, entities_at, relations_at
from lightrag_dagster.query.related import related_chunks
from lightrag_dagster.query.round_robin import round_robin
from lightrag_dagster.query.search import Hits, Search
from lightrag_dagster.query.trace import Trace
from lightrag_dagster.query.types import Chunk, Entity, Reference, Relation, Retrieval

Rerank = Callable[[str, Sequence[str], int], list[tuple[int, float]]]
"""(question, texts, limit) → positions of the best texts and their scores, best first."""

_log = logging.getLogger(__name__)


def retrieve(
    search: Search, count: Callable[[str], int], reserved: int, rerank: Rerank | None, trace: Trace
) -> Retrieval:
    """Find what the model should see of the snapshot to answer the question.

    Args:
        search: the question, and where to look.
        count: gives the length of a text. Tokens.
        reserved: what of the total budget instructions and question take. Tokens.
        rerank: puts chunks in a better order; without it they keep theirs.
        trace: notes what each step does.
    """
    settings, mode = search.settings, MODES[search.settings.mode]
    with trace.step("find") as notes:
        found = mode.find(search)
        notes |= {"entities": len(found.entities), "relations": len(found.relations), "chunks": len(found.chunks)}
    entities = _entities(search, found.entities, count, trace)
    relations = _relations(search, found.relations, count, trace)
    hits = found.chunks
    if mode.related_chunks:
        hits = _with_related(search, found, len(entities), len(relations), trace)
    scores: dict[int, float] = {}
    if rerank and settings.rerank and hits:
        hits, scores = _reranked(search, hits, rerank, trace)
    retrieval = Retrieval(
        query=search.query,
        mode=settings.mode,
        snapshot_id=search.snapshot.manifest.snapshot_id,
        keywords=search.keywords,
        entities=entities,
        relations=relations,
    )
    left = settings.max_total_tokens - reserved - count(render(retrieval))
    chunks, references = _chunks(search, hits, scores, count, left, trace)
    return replace(retrieval, chunks=chunks, references=references)


def _entities(search: Search, hits: Hits, count: Callable[[str], int], trace: Trace) -> tuple[Entity, ...]:
    graph, budget = search.snapshot.graph, search.settings.max_entity_tokens
    with trace.step("entities") as notes:
        kept = tuple(fitting(entities_at(graph, hits), entity_line, count, budget))
        notes |= trace.kept(hits, len(kept), lambda some: [one.name for one in entities_at(graph, some)])
    return kept


def _relations(search: Search, hits: Hits, count: Callable[[str], int], trace: Trace) -> tuple[Relation, ...]:
    graph, budget = search.snapshot.graph, search.settings.max_relation_tokens
    with trace.step("relations") as notes:
        kept = tuple(fitting(relations_at(graph, hits), relation_line, count, budget))
        notes |= trace.kept(
            hits, len(kept), lambda some: [f"{one.src} — {one.tgt}" for one in relations_at(graph, some)]
        )
    return kept


def _with_related(search: Search, found: Found, entities: int, relations: int, trace: Trace) -> Hits:
    """Return the chunks found, merged with those behind the entities and relations that fit, which are the first."""
    with trace.step("related chunks") as notes:
        behind = related_chunks(search, [*found.entities][:entities], [*found.relations][:relations])
        notes |= {"behind entities": len(behind.entities), "behind relations": len(behind.relations)}
        scores = {**behind.similarity, **found.chunks}
        merged = round_robin(list(found.chunks), behind.entities, behind.relations)
        return {row: scores.get(row) for row in merged}


def _reranked(search: Search, hits: Hits, rerank: Rerank, trace: Trace) -> tuple[Hits, dict[int, float]]:
    """Return the chunks as the reranker has them, with its scores; where it fails they keep their order."""
    settings, rows = search.settings, list(hits)
    with trace.step("rerank") as notes:
        texts = [row["content"] for row in search.snapshot.graph.chunks.take(np.array(rows, dtype=np.int32))]
        try:
            best = rerank(search.query, texts, settings.chunk_top_k)
        except ProviderError as error:
            _log.warning("chunks are not reranked: %s", error)
            notes |= {"error": str(error)}
            return hits, {}
        scores = {rows[place]: score for place, score in best if score >= settings.min_rerank_score}
        notes |= {"kept": len(scores), "cut": len(rows) - len(scores), "below the minimum": len(best) - len(scores)}
        return {row: hits[row] for row in scores}, scores


def _chunks(
    search: Search, hits: Hits, scores: dict[int, float], count: Callable[[str], int], budget: int, trace: Trace
) -> tuple[tuple[Chunk, ...], tuple[Reference, ...]]:
    graph = search.snapshot.graph
    with trace.step("chunks") as notes:
        best = dict(list(hits.items())[: search.settings.chunk_top_k])
        kept = tuple(fitting(chunks_at(graph, best, scores), chunk_line, count, budget))
        notes |= trace.kept(
            {**hits, **scores}, len(kept), lambda some: [_place(one) for one in chunks_at(graph, some, {})]
        )
        return with_references(kept)


def _place(chunk: Chunk) -> str:
    first = chunk.citations[0]
    return f"{first.source}/{first.path}[{first.char_start}:{first.char_end}]"
