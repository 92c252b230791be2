"""Temporary homes in which other rows are built, by the stores and the budget of a real home."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.curation.rules import copy_decisions
from lightrag_dagster.fact_schemas import of_pass, split_pass
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading, Waiting, extract_source
from lightrag_dagster.pipeline.facts import parse_pass
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scopes import publish_merged
from lightrag_dagster.pipeline.shards import StageReport
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import Bounds, accept_all, made_from
from lightrag_dagster.storage.tables.source_tables import SourceTables


class TemporaryHome:
    """A home in a folder; models are asked through the stores of the home it stands in for, on its budget."""

    def __init__(self, settings: Settings, folder: Path, run: str | None = None) -> None:
        """Prepare a home in `folder` by settings of another, for builds in this process that wait for no batches.

        Its calls are those of a `run`, or of one of their own. Raises DecisionError if the decisions are lost.
        """
        changes = {"home": folder, "database": None, "engine": "local", "publish": "automatic", "checks": None}
        self.settings = settings.model_copy(update=changes).changed(
            llm={"mode": "realtime"},
            documents={"max_failed_share": 1.0},
            extraction={"max_rejected_share": 1.0},
        )
        self.tables = SourceTables(Home.of(self.settings))
        self._settings, self._home = settings, Home.of(settings)
        self._recipes = Recipes.of(self.settings)
        copy_decisions(self._home, self.tables.home)
        self._account = Account.of(run or f"try-{uuid4()}", "", settings.llm)

    def accept(self, source: str, rows: Mapping[str, pa.Table]) -> None:
        """Take over the rows of all tables of a source."""
        self._write(source, rows)
        accept_all(self.tables.home, source, Bounds.of(self.settings), self.passes_read(source))

    def ingest(self, source: str, documents: pa.Table, chunks: pa.Table | None = None) -> StageReport:
        """Build a source from its documents, or from chunks of them; return the report of the extraction.

        Raises:
            BudgetExceededError: a limit of spending is reached; the answers so far are stored.
            ProviderAccessError: no request can succeed until a person acts.
        """
        self._write(source, {"raw_documents": documents} | ({} if chunks is None else {"chunks": chunks}))
        if chunks is None:
            embedder = partial(open_embedder, self.settings.embedding, self._home, self._account)
            chunk_source(source, self.tables, self._recipes, embedder)
        report = self._extract(source, EXTRACTION)
        parse_and_accept(source, self.tables, self._recipes)
        return report

    def ingest_all(self, source: str, documents: pa.Table, chunks: pa.Table | None = None) -> list[StageReport]:
        """Build a source as `ingest` does, and what passes read of it; return the reports of all readings."""
        reports = [self.ingest(source, documents, chunks)]
        for one in self._recipes.passes_to_read(source):
            reports.append(self._extract(source, Reading(one)))
            parse_pass(source, self.tables, self._recipes, one)
        return reports

    def passes_read(self, source: str) -> list[str]:
        """Return the passes of which there are facts of a source."""
        names = self._recipes.pass_names(source)
        return [name for name in names if self.tables.current(of_pass("read_facts", name), source)]

    def readable(self, source: str, rows: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return rows of a source, by table, without those of passes that cannot read now and whose facts stay."""
        names = {"", *(one.name for one in self._recipes.passes_to_read(source))}
        return {table: content for table, content in rows.items() if split_pass(table)[1] in names}

    def rows(self, source: str) -> dict[str, pa.Table]:
        """Return the rows of all tables of a source."""
        versions = self.tables.current_versions(source, self._recipes.pass_names(source))
        return {name: self.tables.read(name, source) for name in versions}

    def _extract(self, source: str, reading: Reading) -> StageReport:
        account = replace(self._account, source=source, purpose=reading.table if reading.of_pass else "")
        model = partial(open_chat_model, self.settings.llm, self._home, "extract", account)
        report = extract_source(source, self.tables, self._recipes, model, reading)
        assert not isinstance(report, Waiting)
        return report

    def publish(self) -> Usage:
        """Merge, embed and publish what was ingested or accepted; return the calls. Raises as `ingest`."""
        # No Cypher is needed.
        return publish_merged(self._recipes, self._account, backfill=False, database=False, stores=self._home)[1]

    def open(self) -> KnowledgeBase:
        """Open what was published, for questions by the stores and on the budget of the home it stands in for."""
        return KnowledgeBase(open_snapshot(self.tables.home, None), self._settings, self._account)

    def _write(self, source: str, rows: Mapping[str, pa.Table]) -> None:
        versions: dict[str, str] = {}
        for table, content in self.readable(source, rows).items():
            parent = made_from(table)
            inputs = {parent: versions[parent]} if parent else {}
            recipe = self._recipes.table_recipe(table, source)
            versions[table] = self.tables.write(table, source, content, inputs=inputs, recipe=recipe).version
