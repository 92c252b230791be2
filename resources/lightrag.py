"""The builder of a knowledge base, as one Dagster resource made from the settings."""

from functools import cached_property

from lightrag_dagster.pipeline.ingest import SourceIngestion
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables


class LightRAG:
    """The home, tables and recipes of one set of settings.

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
