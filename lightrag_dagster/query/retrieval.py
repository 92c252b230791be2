"""A question's way through the snapshot: find → budgets → related chunks → rerank → references.

Keywords come before it (`keywords`), the context and the answer after it (`context`, `answer`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from lightrag_dagster.query.budgets import fitting
from lightrag_dagster.query.context import chunk_line, entity_line, relation_line, render, with_references
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.records import chunks_at, entities_at, relations_at
from lightrag_dagster.query.related import related_chunks
from lightrag_dagster.query.round_robin import round_robin
from lightrag_dagster.query.search import Hits, Search
from lightrag_dagster.query.trace import Trace
from lightrag_dagster.query.types import Retrieval

Item = TypeVar("Item")


def retrieve(search: Search, count: Callable[[str], int], reserved: int, trace: Trace) -> Retrieval:
    """Find what the model should see of the snapshot to answer the question.

    Args:
        search: the question, and where to look.
        count: gives the length of a text. Tokens.
        reserved: what of the total budget instructions and question take. Tokens.
        trace: notes what each step does.
    """
    graph, settings = search.snapshot.graph, search.settings
    mode = MODES[settings.mode]
    with trace.step("find") as notes:
        found = mode.find(search)
        notes |= {"entities": len(found.entities), "relations": len(found.relations), "chunks": len(found.chunks)}
    with trace.step("entities") as notes:
        lines = entities_at(graph, found.entities)
        entities = tuple(fitting(lines, entity_line, count, settings.max_entity_tokens))
        notes |= _kept(found.entities, len(entities))
    with trace.step("relations") as notes:
        lines_of_relations = relations_at(graph, found.relations)
        relations = tuple(fitting(lines_of_relations, relation_line, count, settings.max_relation_tokens))
        notes |= _kept(found.relations, len(relations))
    chunk_hits = found.chunks
    if mode.related_chunks:
        with trace.step("related chunks") as notes:
            # What fits is what comes first.
            kept = [*found.entities][: len(entities)], [*found.relations][: len(relations)]
            behind = related_chunks(search, *kept)
            notes |= {"behind entities": len(behind.entities), "behind relations": len(behind.relations)}
            scores = {**behind.similarity, **found.chunks}
            merged = round_robin(list(found.chunks), behind.entities, behind.relations)
            chunk_hits = {row: scores.get(row) for row in merged}
    retrieval = Retrieval(
        query=search.query,
        mode=settings.mode,
        snapshot_id=search.snapshot.manifest.snapshot_id,
        keywords=search.keywords,
        entities=entities,
        relations=relations,
    )
    with trace.step("chunks") as notes:
        best = dict(list(chunk_hits.items())[: settings.chunk_top_k])
        left = settings.max_total_tokens - reserved - count(render(retrieval))
        chunks, references = with_references(tuple(fitting(chunks_at(graph, best), chunk_line, count, left)))
        notes |= _kept(chunk_hits, len(chunks))
    return replace(retrieval, chunks=chunks, references=references)


def _kept(hits: Hits, kept: int) -> dict[str, Any]:
    return {"kept": kept, "cut": len(hits) - kept}
