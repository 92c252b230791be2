"""Retrieval for every question in every mode, with its hits, its time and the length of its context."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.progress import report
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.evaluation.metrics import GOLD, HITS
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES, ModeName
from lightrag_dagster.query.steps.context import render
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.duckdb import quoted

ASKED = pa.schema(
    [("mode", pa.string()), ("question", pa.string()), ("context_tokens", pa.int64()), ("milliseconds", pa.float64())]
)


class Retrieved(NamedTuple):
    """The results: `asked` as ASKED, one row per mode and question; `hits` as metrics.HITS."""

    asked: pa.Table
    hits: pa.Table


def retrieve_all(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion], modes: Sequence[str]) -> Retrieved:
    """Ask all questions one after the other, so that none is timed while another is asked.

    No endpoint that is sold by the call reranks what is found: every mode would pay for each question.

    Args:
        knowledge: the snapshot.
        questions: the questions.
        modes: names of modes.

    Raises:
        QueryError: a question cannot be asked, or a mode does not exist.
        ProviderError: a model gave no usable answer.
    """
    count = load_tokenizer(knowledge.settings.chunking.encoding).count
    keywords: Sequence[Keywords | None] = [None] * len(questions)
    if any(mode in MODES and MODES[mode].keywords for mode in modes):  # once for all modes, before anything is timed
        keywords = knowledge.map(lambda one: knowledge.keywords(one.question), questions)
    rerank = reranks(knowledge.settings)
    asked: list[tuple[str, str, int, float]] = []
    hits: list[tuple[str, str, int, str]] = []
    for mode in cast(Sequence[ModeName], modes):  # each is checked where it is asked
        # The first question also prepares e.g. the matrix of the walk, so it is asked again to be timed.
        for one, known in zip(questions[:1], keywords, strict=False):
            knowledge.retrieve(one.question, mode=mode, keywords=known, rerank=rerank)
        for one, known in zip(questions, keywords, strict=True):
            started = time.perf_counter()
            found = knowledge.retrieve(one.question, mode=mode, keywords=known, rerank=rerank)
            milliseconds = (time.perf_counter() - started) * 1000
            asked.append((mode, one.question, 0 if found.empty else count(render(found)), milliseconds))
            hits += [(mode, one.question, rank, item) for rank, item in _items(found)]
            report("questions", len(asked), len(modes) * len(questions))
    return Retrieved(_table(asked, ASKED), _table(hits, HITS))


def reranks(settings: Settings) -> bool:
    """Say whether an evaluation reranks: by a model or server of one's own, since nothing bounds another's bill."""
    return settings.query.rerank and settings.rerank.provider not in ("cohere", "jina", "chat")


def gold_of(questions: Sequence[FiledQuestion]) -> pa.Table:
    """Return the items that should be found, as metrics.GOLD."""
    return _table([(one.question, item) for one in questions for item in one.gold], GOLD)


def missing_gold(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion]) -> list[str]:
    """Return the items that should be found but are not in the snapshot: deleted, renamed or misspelt."""
    graph = knowledge.snapshot.graph
    places = graph.citations.select(["source", "path"]).group_by(["source", "path"]).aggregate([])
    paths = pc.utf8_normalize(pc.binary_join_element_wise(places["source"], places["path"], "/"), form="NFC")
    wanted = pa.array(_wanted(questions), pa.string())
    held = pc.or_(pc.is_in(wanted, value_set=paths), pc.is_in(wanted, value_set=graph.chunks.rows["chunk_id"]))
    return list(wanted.filter(pc.invert(held)).to_pylist())


def _wanted(questions: Sequence[FiledQuestion]) -> list[str]:
    return sorted({item for one in questions for item in one.gold})


def languages_of(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion]) -> dict[str, str]:
    """Return the language of what should be found for each question, the most frequent one, where it is known."""
    wanted = ", ".join(map(quoted, _wanted(questions)))
    told = knowledge.sql(
        f"CREATE TEMP TABLE wanted AS SELECT unnest([{wanted}]::VARCHAR[]) AS item; "
        "SELECT item, language FROM (SELECT nfc_normalize(source || '/' || path) AS item, language FROM raw_documents) "
        "SEMI JOIN wanted USING (item) WHERE language IS NOT NULL UNION ALL "
        "SELECT item, language FROM chunks JOIN wanted ON chunk_id = item JOIN raw_documents USING (source, doc_id) "
        "WHERE language IS NOT NULL ORDER BY ALL",
        trusted=True,
    )
    known = dict(zip(*(told[name].to_pylist() for name in ("item", "language")), strict=True))
    found = {one.question: Counter(known[item] for item in one.gold if item in known) for one in questions}
    return {question: counts.most_common(1)[0][0] for question, counts in found.items() if counts}


def _items(found: Retrieval) -> Iterator[tuple[int, str]]:
    """Yield rank and item: each chunk, and the documents that contain it."""
    for rank, chunk in enumerate(found.chunks, start=1):
        documents = {composed(f"{place.source}/{place.path}") for place in chunk.citations}
        yield from ((rank, item) for item in (chunk.chunk_id, *sorted(documents)))


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
