"""Ask every question in every mode, and note what was found, how long it took and how much a model would see."""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import lancedb
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.index import FTS
from lancedb.query import MatchQuery

from lightrag_dagster.core.progress import report
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.evaluation.metrics import GOLD, HITS
from lightrag_dagster.evaluation.questions import Question
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.context import render, with_references
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.modes import MODES, Hits
from lightrag_dagster.query.types import Keywords, Retrieval

BM25 = "bm25"
"""The control, which is not a mode: a search engine without embeddings or graph."""

_SPARE = 20

Find = Callable[[str, Keywords | None], Retrieval]

ASKED = pa.schema(
    [("mode", pa.string()), ("question", pa.string()), ("context_tokens", pa.int64()), ("milliseconds", pa.float64())]
)


class Retrieved(NamedTuple):
    """`asked` as ASKED, one row a mode and question; `hits` as metrics.HITS."""

    asked: pa.Table
    hits: pa.Table


def retrieve_all(knowledge: KnowledgeBase, questions: Sequence[Question], modes: Sequence[str]) -> Retrieved:
    """Ask all questions one after the other, so that none is timed while another is asked.

    Args:
        knowledge: the snapshot.
        questions: the questions.
        modes: names of modes, or BM25.

    Raises:
        QueryError: a question cannot be asked, or a mode does not exist.
        ProviderError: a model gave no usable answer.
    """
    count = load_tokenizer(knowledge.settings.chunking.encoding).count
    keywords = _keywords(knowledge, questions, modes)
    asked: list[tuple[str, str, int, float]] = []
    hits: list[tuple[str, str, int, str]] = []
    with ExitStack() as opened:
        for mode in modes:
            find = _bm25(knowledge, opened) if mode == BM25 else _mode(knowledge, mode)
            # The first question prepares things, such as the matrix of `ppr`, and is asked once more to be timed.
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


def gold_of(questions: Sequence[Question]) -> pa.Table:
    """Return the items that should be found, as metrics.GOLD."""
    return _table([(one.question, item) for one in questions for item in one.gold], GOLD)


def missing_gold(knowledge: KnowledgeBase, questions: Sequence[Question]) -> list[str]:
    """Return the items that should be found but are not in the snapshot: deleted, renamed or misspelt."""
    graph = knowledge.snapshot.graph
    places = graph.citations.select(["source", "path"]).group_by(["source", "path"]).aggregate([]).to_pylist()
    known = {f"{place['source']}/{place['path']}" for place in places}
    wanted = pa.array(sorted({item for one in questions for item in one.gold} - known), pa.string())
    held = pc.is_in(wanted, value_set=graph.chunks.rows["chunk_id"])
    missing: list[str] = wanted.filter(pc.invert(held)).to_pylist()
    return missing


def _keywords(
    knowledge: KnowledgeBase, questions: Sequence[Question], modes: Sequence[str]
) -> Sequence[Keywords | None]:
    """Return the keywords of each question, found once for all modes and before anything is timed."""
    if not any(mode in MODES and MODES[mode].keywords for mode in modes):
        return [None] * len(questions)
    return knowledge.map(lambda one: knowledge.keywords(one.question), questions)


def _mode(knowledge: KnowledgeBase, mode: str) -> Find:
    return lambda question, keywords: knowledge.retrieve(question, mode=mode, keywords=keywords)


def _bm25(knowledge: KnowledgeBase, opened: ExitStack) -> Find:
    snapshot, limit = knowledge.snapshot, knowledge.settings.query.chunk_top_k
    table = index_text(snapshot.graph, opened.enter_context(tempfile.TemporaryDirectory(prefix="lightrag-bm25-")))

    def find(question: str, _: Keywords | None) -> Retrieval:
        hits = search_text(table, snapshot.graph, question, limit)
        chunks, references = with_references(tuple(snapshot.chunks(hits, {})))
        return Retrieval(question, BM25, knowledge.snapshot_id, Keywords(), chunks=chunks, references=references)

    return find


def index_text(graph: Adjacency, folder: str) -> Any:
    """Return a LanceDB table of the chunks with a BM25 index; it stems English words, and keeps all others."""
    chunks = graph.chunks.rows.select(["chunk_id", "content"])
    table = lancedb.connect(folder).create_table("chunks", chunks)
    table.create_index("content", config=FTS())
    return table


def search_text(table: Any, graph: Adjacency, query: str, limit: int) -> Hits:
    """Return the chunks with the highest BM25 scores, best first, ties by id."""
    match = MatchQuery(query, "content")  # type: ignore[call-arg]  # mypy does not see the defaults
    # A few more, so that the order of the index does not decide which of several equal ones are found.
    found = table.search(match, query_type="fts").select(["chunk_id", "_score"]).limit(limit + _SPARE).to_arrow()
    best = sorted(zip((-found["_score"].to_numpy()).tolist(), found["chunk_id"].to_pylist(), strict=True))[:limit]
    rows = graph.chunks.rows_of([chunk_id for _, chunk_id in best])
    return dict(zip(rows.tolist(), (-score for score, _ in best), strict=True))


def _items(found: Retrieval) -> list[tuple[int, str]]:
    """Return rank and item: each chunk, and the documents that contain it."""
    items = []
    for rank, chunk in enumerate(found.chunks, start=1):
        documents = {f"{place.source}/{place.path}" for place in chunk.citations}
        items += [(rank, item) for item in (chunk.chunk_id, *sorted(documents))]
    return items


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
