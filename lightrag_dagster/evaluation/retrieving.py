"""Asking every question in every mode, and noting what was found, how long it took and how much a model would see."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.progress import report
from lightrag_dagster.evaluation.full_text import full_text
from lightrag_dagster.evaluation.metrics import GOLD, HITS
from lightrag_dagster.evaluation.questions import GoldQuestion
from lightrag_dagster.query.context import render, with_references
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.types import Keywords, Retrieval

BM25 = "bm25"
"""The control that is no mode."""

Find = Callable[[str, Keywords | None], Retrieval]

ASKED = pa.schema(
    [("mode", pa.string()), ("question", pa.string()), ("context_tokens", pa.int64()), ("milliseconds", pa.float64())]
)


class Retrieved(NamedTuple):
    """`asked` as ASKED, one row a mode and question; `hits` as metrics.HITS."""

    asked: pa.Table
    hits: pa.Table


def retrieve_all(
    knowledge: KnowledgeBase,
    questions: Sequence[GoldQuestion],
    modes: Sequence[str],
    chunk_top_k: int,
    count: Callable[[str], int],
) -> Retrieved:
    """Ask all questions, one after the other, so that none is timed while another is asked.

    Args:
        knowledge: the snapshot.
        questions: what to ask.
        modes: names of modes, or BM25.
        chunk_top_k: how many chunks BM25 finds.
        count: gives the length of a text. Tokens.

    Raises:
        QueryError: a question cannot be asked.
        ProviderError: a model gave no usable answer.
    """
    keywords = _keywords(knowledge, questions, modes)
    asked: list[tuple[str, str, int, float]] = []
    hits: list[tuple[str, str, int, str]] = []
    with ExitStack() as opened:
        for mode in modes:
            find = _bm25(knowledge, opened, chunk_top_k) if mode == BM25 else _mode(knowledge, mode)
            # What a mode prepares at its first question, such as the matrix of `ppr`, is timed with none.
            for one, known in zip(questions[:1], keywords, strict=False):
                find(one.question, known)
            for one, known in zip(questions, keywords, strict=True):
                started = time.perf_counter()
                found = find(one.question, known)
                milliseconds = (time.perf_counter() - started) * 1000
                asked.append((mode, one.question, 0 if found.empty else count(render(found)), milliseconds))
                hits += [(mode, one.question, rank, item) for rank, item in _items(found)]
                report("questions", len(asked), len(modes) * len(questions))
    return Retrieved(_table(asked, ASKED), _table(hits, HITS))


def gold_of(questions: Sequence[GoldQuestion]) -> pa.Table:
    """Return what should be found, as metrics.GOLD."""
    return _table([(one.question, item) for one in questions for item in one.gold], GOLD)


def missing_gold(knowledge: KnowledgeBase, questions: Sequence[GoldQuestion]) -> list[str]:
    """Return what should be found but is not in the snapshot: deleted, renamed or misspelt."""
    graph = knowledge.snapshot.graph
    places = graph.citations.select(["source", "path"]).group_by(["source", "path"]).aggregate([]).to_pylist()
    known = {f"{place['source']}/{place['path']}" for place in places}
    wanted = pa.array(sorted({item for one in questions for item in one.gold} - known), pa.string())
    held = pc.is_in(wanted, value_set=graph.chunks.rows["chunk_id"])
    missing: list[str] = wanted.filter(pc.invert(held)).to_pylist()
    return missing


def _keywords(
    knowledge: KnowledgeBase, questions: Sequence[GoldQuestion], modes: Sequence[str]
) -> list[Keywords | None]:
    """Return the keywords of each question, found once for all modes and before anything is timed."""
    if not any(mode != BM25 and MODES[mode].keywords for mode in modes):
        return [None] * len(questions)
    return knowledge.map(lambda one: knowledge.keywords(one.question), questions)


def _mode(knowledge: KnowledgeBase, mode: str) -> Find:
    return lambda question, keywords: knowledge.retrieve(question, mode=mode, keywords=keywords)


def _bm25(knowledge: KnowledgeBase, opened: ExitStack, limit: int) -> Find:
    graph = knowledge.snapshot.graph
    index = opened.enter_context(full_text(graph))

    def find(question: str, _: Keywords | None) -> Retrieval:
        chunks, references = with_references(tuple(knowledge.snapshot.chunks(index.search(question, limit), {})))
        return Retrieval(question, BM25, knowledge.snapshot_id, Keywords(), chunks=chunks, references=references)

    return find


def _items(found: Retrieval) -> list[tuple[int, str]]:
    """Return rank and item: each chunk, and the documents that it stands in."""
    items = []
    for rank, chunk in enumerate(found.chunks, start=1):
        documents = {f"{place.source}/{place.path}" for place in chunk.citations}
        items += [(rank, item) for item in (chunk.chunk_id, *sorted(documents))]
    return items


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )
