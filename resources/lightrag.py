"""The builder of a knowledge base, as one Dagster resource made from the settings."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import cached_property

from lightrag_dagster.core.protocols import CountingEmbedder
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.models.cached import StoredChatModel
from lightrag_dagster.models.providers import open_chat_model, open_embedder, settings_of
from lightrag_dagster.pipeline.ingest import SourceIngestion
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Role, Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import EmbedderRecord
from lightrag_dagster.storage.tables.source_tables import SourceTables


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

    def tables(self, *, candidate: bool = False) -> SourceTables:
        """Return the per-source tables, or those of a backfill."""
        return SourceTables(self.home, candidate=candidate)

    def ingestion(self, source: str, account: Account, *, backfill: bool) -> SourceIngestion:
        """Return the ingestion of a source, or its backfill."""
        return SourceIngestion(source, self.tables(candidate=backfill), self.recipes, account)

    def chat_model(self, role: Role, account: Account) -> AbstractAsyncContextManager[StoredChatModel]:
        """Open the language model for one block, for calls of one role."""
        return open_chat_model(self.settings.llm, self.home, role, account)

    def embedder(
        self, account: Account, embedder: EmbedderRecord, engine: Engine
    ) -> AbstractAsyncContextManager[CountingEmbedder]:
        """Open an embedder, which may differ from the one of the settings, for one block."""
        return open_embedder(settings_of(embedder, self.settings.embedding), self.home, account, engine)

    @contextmanager
    def building(self) -> Iterator[Home]:
        """Hold the home's lock for one block; waits for another builder."""
        with building(self.home, STEP_SECONDS):
            yield self.home
