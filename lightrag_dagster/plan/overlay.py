"""A copy of a home in which a build can be tried without changing the home."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.curation.rules import copy_decisions
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion


@contextmanager
def overlay(recipes: Recipes) -> Iterator[Recipes]:
    """Give recipes of a temporary home with the tables, generations and records of theirs, removed with the block.

    Records are copied and data files are links, so every function of `build` works on it, and nothing that is written
    reaches the home: the writers of this package replace files and never change one. Response and vector store, batches
    and LanceDB tables are left out.

    Raises:
        StoreError: the disk refuses, or the home changed meanwhile.
    """
    home = Home.of(recipes.settings)
    with temporary_folder("lightrag-plan-") as folder:
        copy = Home(folder)
        _fetch(home)
        try:
            for pointer in (home.format, home.published, home.newest, home.held):
                if pointer.exists():
                    shutil.copy(pointer, copy.root)
            for part in (home.root / "tables", home.root / "accepted", home.generations):
                _link(part, copy.root / part.name)
        except OSError as error:
            raise StoreError(f"{home.root} cannot be copied: {error.strerror or error}; try again") from error
        copy_decisions(home, copy)
        settings = recipes.settings.model_copy(update={"home": copy.root, "database": None, "engine": "local"})
        yield Recipes(settings, recipes.prompts)


def _fetch(home: Home) -> None:
    """Fetch what a build reads where it is missing: the current tables of every source, and the newest generation."""
    refresh(home)
    pointers = (path for name in ("current", "candidate") for path in home.root.glob(f"tables/*/*/{name}.json"))
    records = [TableVersion.model_validate_json(path.read_bytes()) for path in pointers]
    tables = SourceTables(home)
    home.files.open(path for one in records for path in tables.paths(one.table, one.source, one.version))
    with suppress(StoreError):
        generations.newest_generation(home)


def _link(folder: Path, target: Path) -> None:
    """Make the folders below `folder` again, with copies of its records and links to its other files."""
    for root, _, names in os.walk(folder):
        made = target / Path(root).relative_to(folder)
        made.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name.endswith(".json"):
                shutil.copy(Path(root, name), made)
            else:
                (made / name).symlink_to(Path(root, name).absolute())
