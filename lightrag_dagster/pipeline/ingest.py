"""The ingestion of one source: its steps, in their order, and the models that they ask."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import OpenModel
from lightrag_dagster.errors import LightRAGError, ProviderError, SettingsError, SourceError
from lightrag_dagster.models.batch.ledger import awaits_retries, end_waits, refuse_while_awaited
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading, Waiting, extract_source
from lightrag_dagster.pipeline.facts import parse_pass
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import StageReport
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import Source, find_source
from lightrag_dagster.storage.tables.source_tables import SourceTables


@dataclass(frozen=True)
class SourceIngestion:
    """An ingestion of one source, or a backfill if the tables are candidates; its calls are made on an account.

    `refused` is why no pass can ask a model.
    """

    source: str
    tables: SourceTables
    recipes: Recipes
    account: Account
    refused: str = ""

    def read(self) -> list[StageReport]:
        """Read the source as it is now; raises as `read_source`, and SourceError why it is none or is withheld.

        Readings that no model makes any more, as after a change of the settings, wait for no batch from then on.
        """
        purposes = {Reading(one).table for one in self.recipes.passes_to_read(self.source)}
        if self.recipes.settings.extraction.method_of(self.source) == "llm":
            purposes.add("")
        end_waits(self.tables.home, self.source, purposes, backfill=self.tables.candidate)
        settings = self.recipes.settings
        describer = partial(open_chat_model, settings.llm, self.tables.home, "describe", self.account)
        return [read_source(source_to_read(settings, self.source), self.tables, self.recipes, describer)]

    def chunk(self) -> list[StageReport]:
        """Cut the documents as `chunking` says; unchanged text keeps its chunks, except in a backfill.

        Raises as `chunk_source`.
        """
        embedder = partial(open_embedder, self.recipes.settings.embedding, self.tables.home, self.account)
        return [chunk_source(self.source, self.tables, self.recipes, embedder)]

    def extract(self) -> list[StageReport] | Waiting:
        """Ask the model about every chunk that it has not answered yet; in a backfill, about outdated rows too.

        In batch mode, unless all responses are there, the missing requests are submitted, and no table is made.

        Raises:
            SettingsError: in real time, while the source waits for batches.
            LightRAGError: as `extract_source`.
        """
        report = self._ask(EXTRACTION)
        return report if isinstance(report, Waiting) else [report]

    def parse(self) -> list[StageReport]:
        """Parse the responses that were not parsed before; accept the source's tables when they may be merged.

        Raises as `parse_and_accept`.
        """
        return parse_and_accept(self.source, self.tables, self.recipes)[0]

    def read_passes(self) -> list[StageReport] | Waiting:
        """Ask the model about every chunk that a pass has not read; raises as `extract`.

        While one waits for batches, the others are read and parsed; where the model refuses, those of columns.
        """
        passes = self.recipes.passes_to_read(self.source)
        reports = dict[str, StageReport]()
        awaited = frozenset[str]()
        refused: LightRAGError | None = None
        for one in passes:
            try:
                if not one.is_of_columns and (refused or self.refused):
                    raise refused or ProviderError(self.refused)
                found = self._ask(Reading(one))
            except (ProviderError, SettingsError) as error:
                refused = error
                continue
            if isinstance(found, Waiting):
                awaited |= found.batches
            else:
                reports[one.name] = found
        for one in passes if awaited or refused else ():
            if one.name in reports:
                parse_pass(self.source, self.tables, self.recipes, one)
        if refused:
            raise refused
        return Waiting(awaited) if awaited else [*reports.values()]

    def parse_passes(self) -> list[StageReport]:
        """Parse the responses of each pass into facts, and accept those that may be merged; raises as `parse_pass`."""
        passes = self.recipes.passes_to_read(self.source)
        return [one for each in passes for one in parse_pass(self.source, self.tables, self.recipes, each)[0]]

    def _ask(self, reading: Reading) -> StageReport | Waiting:
        """Make a reading with the model in the mode of `llm.mode`, here or in workers; raises as `extract`.

        By batch, what had failed for good is asked about again as long as an answer about some of it is awaited.
        """
        llm, home, recipes = self.recipes.settings.llm, self.tables.home, self.recipes
        account = replace(self.account, purpose=reading.table if reading.of_pass else "")
        if llm.by_batch:
            from lightrag_dagster.models.batch.model import open_batched_chat_model

            backfill = self.tables.candidate
            if awaits_retries(home, self.source, account.purpose, backfill=backfill):
                recipes = replace(recipes, settings=recipes.settings.retrying_failed())
            how = {"backfill": backfill, "retries": recipes.settings.retries_failed}
            model: OpenModel = partial(open_batched_chat_model, llm, home, account, **how)
        else:
            if llm.provider != "offline" and home.may_have_batches:
                from lightrag_dagster.models.batch.waiting import collect_batches

                # Also of cancelled ones, since they are paid for.
                run_sync(collect_batches(llm, home, self.source, account.purpose))
                refuse_while_awaited(home, self.source, account.purpose)
            model = partial(open_chat_model, llm, home, "extract", account)
        return extract_source(self.source, self.tables, recipes, model, reading)


def source_to_read(settings: Settings, name: str) -> Source:
    """Return a configured source; raises SourceError when there is none of that name, or why it is withheld."""
    try:
        return find_source(settings, name)
    except SourceError as error:
        if reason := Situation.looking(settings, refreshed=True).absent.get(name):
            raise SourceError(reason) from error
        raise


Step = Callable[[SourceIngestion], Sequence[StageReport] | Waiting]

STEPS: dict[str, Step] = {
    "raw_documents": SourceIngestion.read,
    "chunks": SourceIngestion.chunk,
    "extractions": SourceIngestion.extract,
    "mentions": SourceIngestion.parse,
    "readings": SourceIngestion.read_passes,
    "facts": SourceIngestion.parse_passes,
}
"""The steps by their names, in their order; one ends the ingestion for now if it waits for batches."""


def last_step(recipes: Recipes, source: str) -> str:
    """Return the last step of a source: the one that reads facts, where there is a pass."""
    return "facts" if recipes.passes_to_read(source) else "mentions"
