"""The builder of a knowledge base, as one Dagster resource made from the settings."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import cached_property, partial

from lightrag_dagster.core.protocols import CountingEmbedder, OpenModel
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.errors import SourceError
from lightrag_dagster.models.batch.ledger import refuse_while_awaited
from lightrag_dagster.models.cached import StoredChatModel
from lightrag_dagster.models.providers import open_chat_model, open_embedder, settings_of
from lightrag_dagster.pipeline.captions import OpenDescriber
from lightrag_dagster.pipeline.chunks import OpenEmbedder
from lightrag_dagster.pipeline.gone import held_sources
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Role, Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import Source, find_source, find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.manifests import PinnedEmbedder
from lightrag_dagster.storage.tables.source_tables import SourceTables

LOCK_SECONDS = 3600.0
"""Time that a step waits for another builder: longer than any merge, shorter than a night."""


class LightRAG:
    """The home, tables, recipes and models of one set of settings.

    It is a plain object, so that the launchpad cannot override any part: models are always those that the recipes name.
    API keys are read from the environment by the SDK and are not a part of it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def home(self) -> Home:
        """The home; not opened when definitions are loaded, since that of a bucket claims a folder of the cache."""
        return Home.of(self.settings)

    @cached_property
    def recipes(self) -> Recipes:
        """Today's recipes; raises SettingsError when a prompt file cannot be used."""
        return Recipes.of(self.settings)

    def source(self, name: str) -> Source:
        """Return a configured source; raises SourceError when there is none of that name, or why it is withheld."""
        try:
            return find_source(self.settings, name)
        except SourceError as error:
            if reason := held_sources(self.settings, find_sources(self.settings)).get(name):
                raise SourceError(reason) from error
            raise

    def tables(self, *, candidate: bool = False) -> SourceTables:
        """Return the per-source tables, or those of a backfill."""
        return SourceTables(self.home, candidate=candidate)

    def chat_model(self, role: Role, account: Account) -> AbstractAsyncContextManager[StoredChatModel]:
        """Open the language model for one block, for calls of one role."""
        return open_chat_model(self.settings.llm, self.home, role, account)

    def describing_model(self, account: Account) -> OpenDescriber | None:
        """Return a function that opens the language model for images, here or in a worker; None without one."""
        if not self.recipes.describes_figures:
            return None
        return partial(open_chat_model, self.settings.llm, self.home, "describe", account)

    def extraction_model(self, account: Account, *, backfill: bool = False) -> OpenModel:
        """Return a function that opens the model for extraction, in the mode of `llm.mode`, here or in a worker.

        Batches remember if it is a backfill.

        Raises:
            SettingsError: in real time, while the account's source waits for batches.
        """
        llm = self.settings.llm
        if not llm.by_batch:
            if llm.provider != "offline":
                refuse_while_awaited(self.home, account.source)
            return partial(open_chat_model, llm, self.home, "extract", account)
        from lightrag_dagster.models.batch.model import open_batched_chat_model

        return partial(open_batched_chat_model, llm, self.home, account, backfill=backfill)

    def embedder(
        self, account: Account, embedder: PinnedEmbedder, engine: Engine
    ) -> AbstractAsyncContextManager[CountingEmbedder]:
        """Open an embedder, which may differ from the one of the settings, for one block."""
        return open_embedder(settings_of(embedder, self.settings.embedding), self.home, account, engine)

    def chunking_embedder(self, account: Account) -> OpenEmbedder | None:
        """Return a function that opens the embedder if documents are cut by meaning, here or in a worker; else None."""
        if not self.recipes.compares_meaning:
            return None
        return partial(open_embedder, self.settings.embedding, self.home, account)

    @contextmanager
    def building(self) -> Iterator[Home]:
        """Hold the home's lock for one block; waits for another builder."""
        with building(self.home, LOCK_SECONDS):
            yield self.home
