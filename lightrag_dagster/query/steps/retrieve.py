"""The steps of a retrieval: find → budgets → related chunks → rerank → references."""

import logging
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate, islice
from typing import Any, TypeVar

import numpy as np
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import text_tokens
from lightrag_dagster.core.tracing import span
from lightrag_dagster.errors import BudgetExceededError, ProviderError, cause_of
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.text_index import passage
from lightrag_dagster.query.asked import current
from lightrag_dagster.query.fact_reading import read_facts
from lightrag_dagster.query.hits import Found, Hits, round_robin
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.steps import context
from lightrag_dagster.query.steps.decompose import HOP_PASSAGES, HOP_TOKENS, follow_hops
from lightrag_dagster.query.steps.facts import FACT_TOKENS, facts_about, in_order
from lightrag_dagster.query.steps.related_chunks import paths_behind, related_chunks
from lightrag_dagster.query.types import Chunk, Entity, Fact, Relation, Retrieval, Step

Item = TypeVar("Item")
Count = Callable[[str], int]
"""A function from a text to its length. Tokens."""

Rerank = Callable[[str, Sequence[str], int, dict[str, Any]], Sequence[tuple[int, float | None]]]
"""A function of question, texts, limit and notes: positions of the best texts and their scores, if any, best first."""

_MOST_ITEMS = 100
_LINES_AT_ONCE = 32
_NO_ROOM = "max_total_tokens, {:,}, leaves no room for a passage; raise it"
_LESS = ", or lower max_entity_tokens and max_relation_tokens"

_log = logging.getLogger(__name__)


class Trace:
    """The steps of one question: rows found, kept and cut, and times."""

    def __init__(self, *, explain: bool) -> None:
        """List items with their scores in the steps if `explain`; else only numbers and times."""
        self._explain = explain
        self.steps: tuple[Step, ...] = ()

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a block, which enters its notes into the dictionary, ready for JSON; raises as `UnderWay.left`."""
        current().left()
        notes: dict[str, Any] = {}
        started = time.perf_counter()
        with span(f"retrieval step {name}", {}) as note:
            yield notes
            if "error" in notes:
                _log.warning("%s: %s", name, cause_of(notes["error"]))  # what follows may be of a question
            note({f"lightrag.{key}": value for key, value in notes.items() if isinstance(value, int | float)})
        self.steps += (Step(name, (time.perf_counter() - started) * 1000, notes),)

    def kept(self, hits: Hits, kept: int, names: Callable[[Hits], Iterable[str]]) -> dict[str, Any]:
        """Return notes on hits, the first `kept` of which stay; `names` looks up their names."""
        notes: dict[str, Any] = {"kept": kept, "cut": len(hits) - kept}
        if self._explain:
            first = dict(list(hits.items())[:_MOST_ITEMS])
            notes["items"] = [
                {"name": name, "score": score, "kept": place < kept}
                for place, (name, score) in enumerate(zip(names(first), first.values(), strict=True))
            ]
        return notes


def fitting(
    items: Iterable[Item], line_of: Callable[[Item], str], count: Count, budget: int, at_once: int = 1
) -> tuple[list[Item], int]:
    """Return the first items whose lines fit the budget, and the tokens of these lines.

    Fewer than `at_once` items are read after the first that does not fit. A line counts with the newline that ends it
    in the context. Lines of JSON may be counted several at once, as no token reaches from one line into the next: as
    many as a rough estimate says will fit. So there are few calls, for which concurrent questions would wait.
    """
    source, kept, used = iter(items), list[Item](), 0
    waiting: list[tuple[Item, str]] = []
    while True:
        waiting += ((item, f"{line_of(item)}\n") for item in islice(source, max(0, at_once - len(waiting))))
        if not waiting:
            return kept, used
        rough = list(accumulate(text_tokens(line) for _, line in waiting[:at_once]))
        some = max(1, bisect_right(rough, budget - used))
        needed = count("".join(line for _, line in waiting[:some]))
        if used + needed <= budget:
            kept += (item for item, _ in waiting[:some])
            used += needed
            waiting = waiting[some:]
        elif some == 1:
            return kept, used
        else:
            at_once = 1


def retrieve(search: Search, count: Count, reserved: int, rerank: Rerank | None, trace: Trace) -> Retrieval:
    """Find the part of the snapshot that the model should see to answer the question.

    Args:
        search: the question and its snapshot.
        count: counts the tokens of a text.
        reserved: the part of the total budget that instructions and question take. Tokens.
        rerank: puts chunks in a better order; without it they keep theirs.
        trace: receives the steps.
    """
    settings, mode = search.settings, MODES[search.settings.mode]
    with trace.step("find") as notes:
        found = mode.find(search)
        notes |= {"entities": len(found.entities), "relations": len(found.relations), "chunks": len(found.chunks)}
        notes |= found.notes
    if settings.hops:
        found = follow_hops(search, found, lambda hits: _best_passages(search, hits, count), trace.step)
    left = settings.max_total_tokens - reserved
    entities, used = _entities(search, found.entities, count, trace, min(left, settings.max_entity_tokens))
    left -= used
    budget = min(left, settings.max_relation_tokens)
    facts, of_facts = _facts(search, [*found.entities][: len(entities)], count, trace, budget)
    relations, used = _relations(search, found.relations, count, trace, budget - of_facts)
    left -= of_facts + used
    if mode.related_chunks:
        found = _with_related(search, found, len(entities), len(relations), trace)
    hits = found.chunks
    scores: dict[int, float] = {}
    if rerank and settings.rerank and hits:
        hits, scores = _reranked(search, hits, rerank, trace)
    retrieval = Retrieval(
        query=search.query,
        mode=settings.mode,
        snapshot_id=search.snapshot.manifest.snapshot_id,
        keywords=search.keywords,
        entities=tuple(entities),
        relations=tuple(relations),
        facts=tuple(facts),
        as_of=search.as_of.isoformat() if search.as_of and facts else None,
    )
    left -= count(context.frame(retrieval))
    chunks = _chunks(search, replace(found, chunks=hits), scores, count, left, trace)
    no_room = _NO_ROOM.format(settings.max_total_tokens) + (_LESS if entities or relations else "")
    lacking = (no_room,) if hits and not chunks else ()
    return context.with_references(replace(retrieval, chunks=tuple(chunks), notes=lacking))


def _entities(search: Search, hits: Hits, count: Count, trace: Trace, budget: int) -> tuple[list[Entity], int]:
    read = search.snapshot.entities
    with trace.step("entities") as notes:
        kept, used = fitting(read(hits), context.entity_line, count, budget, _LINES_AT_ONCE)
        notes |= trace.kept(hits, len(kept), lambda some: [one.name for one in read(some)])
    return kept, used


def _facts(search: Search, entities: list[int], count: Count, trace: Trace, budget: int) -> tuple[list[Fact], int]:
    """Return the facts about entities that fit, in the order in which they are shown; there is no step without any."""
    seen, day = search.snapshot, search.as_of
    if not entities or seen.facts is None or not len(rows := facts_about(seen.facts, np.array(entities), day)):
        return [], 0
    read = partial(read_facts, seen, seen.facts)
    with trace.step("facts") as notes:
        kept, used = fitting(read(rows), _cited_line, count, min(FACT_TOKENS, budget), _LINES_AT_ONCE)
        hits = dict.fromkeys(rows.tolist())
        notes |= trace.kept(hits, len(kept), lambda some: map(_said, read(np.array([*some], dtype=np.int32))))
        return [kept[place] for place in in_order(seen.facts, rows[: len(kept)], day)], used


def _cited_line(fact: Fact) -> str:
    """Return the line of a fact, and that of a document which it may add to the references."""
    return f"{context.fact_line(fact)}\n[99] {fact.citations[0].source}/{fact.citations[0].path}"


def _said(fact: Fact) -> str:
    when = f" ({fact.since or '…'} – {fact.until or '…'})" if fact.since or fact.until else ""
    return f"{fact.subject} — {fact.relation} — {fact.object or fact.value}{when}"


def _relations(search: Search, hits: Hits, count: Count, trace: Trace, budget: int) -> tuple[list[Relation], int]:
    read = search.snapshot.relations
    with trace.step("relations") as notes:
        kept, used = fitting(read(hits), context.relation_line, count, budget, _LINES_AT_ONCE)
        notes |= trace.kept(hits, len(kept), lambda some: [f"{one.src} — {one.tgt}" for one in read(some)])
    return kept, used


def _with_related(search: Search, found: Found, entities: int, relations: int, trace: Trace) -> Found:
    """Merge the chunks found with those of the first entities and relations, which fit the budget."""
    with trace.step("related chunks") as notes:
        behind = related_chunks(search, [*found.entities][:entities], [*found.relations][:relations])
        notes |= {"behind entities": len(behind.entities), "behind relations": len(behind.relations)}
        scores = {**behind.similarity, **found.chunks}
        merged = round_robin(list(found.chunks), list(behind.entities), list(behind.relations))
        paths_to = partial(paths_behind, search.snapshot.graph, found, behind)
        return replace(found, chunks={row: scores.get(row) for row in merged}, paths_to=paths_to)


def _reranked(search: Search, hits: Hits, rerank: Rerank, trace: Trace) -> tuple[Hits, dict[int, float]]:
    """Return the chunks in the reranker's order, and its scores, if any; if it fails they keep their order.

    Raises:
        BudgetExceededError: the reranker asks a language model, and the budget is spent.
    """
    settings, rows = search.settings, list(hits)
    with trace.step("rerank") as notes:
        texts = _passages(search, rows)
        try:
            best = rerank(search.query, texts, settings.chunk_top_k, notes)
        except BudgetExceededError:
            raise
        except ProviderError as error:
            notes |= {"error": str(error)}
            return hits, {}
        least = -math.inf if settings.min_rerank_score is None else settings.min_rerank_score
        kept = {rows[place]: score for place, score in best if score is None or score >= least}
        notes |= {"kept": len(kept), "cut": len(rows) - len(kept), "below the minimum": len(best) - len(kept)}
        return {row: hits[row] for row in kept}, {row: score for row, score in kept.items() if score is not None}


def _best_passages(search: Search, hits: Hits, count: Count) -> list[str]:
    """Return the first passages that fit."""
    budget = min(HOP_TOKENS, search.settings.max_total_tokens)
    return fitting(_passages(search, list(hits)[:HOP_PASSAGES]), str, count, budget)[0]


def _passages(search: Search, rows: Sequence[int]) -> list[str]:
    found = search.snapshot.graph.chunks.take(np.array(rows, dtype=np.int32))
    return [passage(row["content"], row["context"]) for row in found]


def _chunks(
    search: Search, found: Found, scores: dict[int, float], count: Count, budget: int, trace: Trace
) -> list[Chunk]:
    read, hits = search.snapshot.chunks, found.chunks
    with trace.step("chunks") as notes:
        best = dict(list(hits.items())[: search.settings.chunk_top_k])
        if search.settings.prefer == "newest":
            best = newest_first(search.snapshot.graph, best)
            hits = {**best, **hits}
        kept, _ = fitting(read(best, scores), context.chunk_line, count, budget, _LINES_AT_ONCE)
        notes |= trace.kept({**hits, **scores}, len(kept), lambda some: [_place(one) for one in read(some, {})])
        for item, row in zip(notes.get("items", []), list(best)[: len(kept)], strict=False):
            item["paths"] = (found.paths_to and found.paths_to(row)) or [[search.snapshot.graph.place_of(row)]]
        return kept


def newest_first(graph: Adjacency, hits: Hits) -> Hits:
    """Return chunks by the date of their newest document, newest first, those without last; ties keep their order."""
    dates, offsets = graph.citations.column("date"), graph.citation_offsets
    known = {row: pc.max(dates[int(offsets[row]) : int(offsets[row + 1])]).as_py() or "" for row in hits}
    return {row: hits[row] for row in sorted(hits, key=known.__getitem__, reverse=True)}


def _place(chunk: Chunk) -> str:
    first = chunk.citations[0]
    pages = f", {first.pages}" if first.pages else ""
    return f"{first.source}/{first.path}[{first.char_start}:{first.char_end}]{pages}"
