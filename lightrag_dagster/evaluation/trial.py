"""Trials of another recipe on a sample of the documents, before a backfill.

The sample is built twice, in temporary homes: from the current tables, and by the settings on trial. Models are asked
through the stores of the real home, on its budget: earlier answers are not asked for again, and the backfill reuses
the new ones.
"""

import tempfile
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa

from lightrag_dagster.core.protocols import CountingEmbedder, Usage
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import gold_of, retrieve_all
from lightrag_dagster.evaluation.sample import Sample, take_sample
from lightrag_dagster.evaluation.summary import K
from lightrag_dagster.models.providers import open_chat_model, open_embedder, settings_of
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.extractions import Waiting, extract_source
from lightrag_dagster.pipeline.graph import build_graph
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.publish import publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.records import VECTOR_TABLES, PinnedEmbedder
from lightrag_dagster.storage.snapshots.snapshots import latest_snapshot
from lightrag_dagster.storage.tables.acceptance import MADE_FROM, accept
from lightrag_dagster.storage.tables.source_tables import SourceTables

MODES_TRIED = tuple(name for name, mode in MODES.items() if mode.retrieves and not mode.keywords)
"""The modes that are measured: those for which no language model is asked."""


class Built(NamedTuple):
    """A sample as one recipe made it.

    `usage` counts the calls for it now, `answers_cost_usd` is the cost of all answers about its chunks when they were
    bought. `scores` are mode → mean recall@5 and mean reciprocal rank over the questions.
    """

    chunks: int
    failed_chunks: int
    entities: frozenset[str]
    relations: frozenset[str]
    usage: Usage
    answers_cost_usd: float
    scores: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Trial:
    """A sample as it is and as it would be, and the questions about it.

    `all_chunks` is the present number of chunks of the whole home.
    """

    documents: int
    all_chunks: int
    questions: int
    before: Built
    after: Built

    @property
    def backfill_cost_usd(self) -> float:
        """The cost of asking about all chunks of the home as about those of the sample. US dollars."""
        return self.after.answers_cost_usd * self.all_chunks / max(1, self.before.chunks)


def try_recipe(settings: Settings, tried: Settings, documents: int, questions: Sequence[FiledQuestion]) -> Trial:
    """Build a sample of documents by other settings, and compare it with the home's own rows.

    The documents of the questions are taken first; only questions whose documents are all in the sample are asked.

    Args:
        settings: The settings of the home.
        tried: The same with other prompts, models, chunking or extraction.
        documents: The size of the sample.
        questions: Questions that name the documents that should be found.

    Raises:
        BudgetExceededError: a limit of spending is reached; the answers so far are stored.
        ProviderAccessError: no request can succeed until a person acts.
        StoreError: nothing was ingested yet, or a table is damaged.
    """
    home, names = Home.of(settings), [one.name for one in chosen_sources(settings, [])]
    sample = take_sample(home, names, documents, [path for one in questions for path in one.documents])
    asked = [one for one in questions if one.documents and not one.chunks and sample.documents >= set(one.documents)]
    published = latest_snapshot(home)
    with tempfile.TemporaryDirectory(prefix="lightrag-try-") as folder:
        embedding = settings_of(published.inputs.embedder, settings.embedding) if published else settings.embedding
        as_it_is = settings.model_copy(update={"embedding": embedding})
        before = _Side(home, _scratch(as_it_is, Path(folder, "before"))).build(sample, asked, again=False)
        after = _Side(home, _scratch(tried, Path(folder, "after"))).build(sample, asked, again=True)
    return Trial(sample.count("raw_documents"), sample.all_chunks, len(asked), before, after)


def _scratch(settings: Settings, folder: Path) -> Settings:
    """Return settings of a temporary home, for a build in this process that waits for no batches."""
    changes = {"home": folder, "database": None, "engine": "local"}
    # No Cypher is needed.
    return settings.model_copy(update=changes).changed(
        llm={"mode": "realtime"},
        graph={"before_publication_rows": 0},
        documents={"max_failed_share": 1.0},
        extraction={"max_rejected_share": 1.0},
    )


class _Side:
    """One of the two builds: `settings` are of its temporary home; models are asked through the stores of `home`."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._recipes = Recipes.of(settings)
        self._account = Account.of(f"try-{uuid4()}", "", settings.llm)

    def build(self, sample: Sample, questions: Sequence[FiledQuestion], *, again: bool) -> Built:
        """Build a sample: as it is, or `again` from its documents; and ask the questions."""
        tables, usage, cost = SourceTables(Home.of(self._settings)), Usage(), 0.0
        for source, rows in sample.tables.items():
            self._write(tables, source, rows, ["raw_documents"] if again else list(rows))
            if again:
                asked, bought = self._ingest(tables, source)
                usage, cost = usage + asked, cost + bought
            else:
                accept(tables.home, source, 1.0)
                cost += sum(value or 0.0 for value in rows["extractions"]["cost_usd"].to_pylist())
        usage = usage + self._publish()
        with KnowledgeBase.open(settings=self._settings) as knowledge:
            entities, relations = (knowledge.snapshot.graph.entities.rows, knowledge.snapshot.graph.relations.rows)
            ends = zip(relations["src"].to_pylist(), relations["tgt"].to_pylist(), strict=True)
            return Built(
                sum(tables.require("chunks", source).rows for source in sample.tables),
                sum(tables.require("extractions", source).count("status", "failed") for source in sample.tables),
                frozenset(entities["name"].to_pylist()),
                frozenset(f"{one} — {other}" for one, other in ends),
                usage,
                cost,
                _scores(knowledge, questions),
            )

    def _write(self, tables: SourceTables, source: str, rows: dict[str, pa.Table], wanted: Sequence[str]) -> None:
        versions: dict[str, str] = {}
        for table in wanted:
            parent = MADE_FROM.get(table)
            inputs = {parent: versions[parent]} if parent else {}
            fingerprint = self._recipes.code[table]
            versions[table] = tables.write(table, source, rows[table], inputs=inputs, fingerprint=fingerprint).version

    def _ingest(self, tables: SourceTables, source: str) -> tuple[Usage, float]:
        """Rebuild a source from its documents; return the calls, and the cost of all answers."""
        embedder = partial(open_embedder, self._settings.embedding, self._home, self._account)
        model = partial(open_chat_model, self._settings.llm, self._home, "extract", self._account)
        chunk_source(source, tables, self._recipes, embedder if self._recipes.compares_meaning else None)
        report = extract_source(source, tables, self._recipes, model)
        assert not isinstance(report, Waiting)
        parse_and_accept(source, tables, self._recipes)
        return report.usage, report.answers_cost_usd

    def _publish(self) -> Usage:
        settings, home, account = self._settings, self._home, self._account

        def open_one(one: PinnedEmbedder, engine: Engine) -> AbstractAsyncContextManager[CountingEmbedder]:
            return open_embedder(settings_of(one, settings.embedding), home, account, engine)

        usage = merge_sources(self._recipes, partial(open_chat_model, settings.llm, home, "summarise", account)).usage
        for table in VECTOR_TABLES:
            usage = usage + embed(self._recipes, table, open_one).usage
        build_graph(settings)
        publish_newest(self._recipes)
        return usage


def _scores(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion]) -> dict[str, tuple[float, float]]:
    """Return mode → mean recall@5 and mean reciprocal rank."""
    if not questions:
        return {}
    asked, hits = retrieve_all(knowledge, questions, MODES_TRIED)
    measured = measure(asked.select(["mode", "question"]), hits, gold_of(questions), K)
    means = measured.group_by("mode").aggregate([("recall", "mean"), ("mrr", "mean")]).sort_by("mode")
    return {one["mode"]: (one["recall_mean"], one["mrr_mean"]) for one in means.to_pylist()}
