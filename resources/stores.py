"""The home's tables and generations as Dagster resources."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from pydantic import Field

from lightrag_dagster.storage.generations import Generation, newest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building
from lightrag_dagster.storage.tables import SourceTables

LOCK_SECONDS = 3600.0
"""How long a step waits for another builder: longer than any merge, shorter than a night."""


class TablesResource(dg.ConfigurableResource):
    """The per-source tables.

    rows = tables.open().read("chunks", "handbook")
    """

    home: str = Field(description="Home whose tables are read and written.")

    def open(self) -> SourceTables:
        """Return the tables."""
        return SourceTables(Home(Path(self.home)))


class GenerationsResource(dg.ConfigurableResource):
    """The merged tables and stores, one immutable generation after the other.

    with generations.building() as home:
        generation = newest(home)
    """

    home: str = Field(description="Home whose generations are built.")

    @contextmanager
    def building(self) -> Iterator[Home]:
        """Hold the home's lock for one block; waits for another builder."""
        home = Home(Path(self.home))
        with building(home, LOCK_SECONDS):
            yield home

    def newest(self) -> Generation:
        """Return the generation that is being built, or was built last."""
        return newest(Home(Path(self.home)))
