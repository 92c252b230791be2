"""A copy of a home in which a build can be tried without changing the home."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.curation.rules import copy_decisions
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import read, refresh, write
from lightrag_dagster.storage.records import Pointer, read_record
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion


@contextmanager
def overlay(recipes: Recipes) -> Iterator[Recipes]:
    """Give recipes of a temporary home with the tables, generations and records of theirs, removed with the block.

    Records are copied and data files are links, so every function of `pipeline` works on it, and nothing that is
    written reaches the home: the writers of this package replace files and never change one. Response and vector store,
    batches and LanceDB tables are left out.

    Raises:
        StoreError: the disk refuses, or the home changed meanwhile.
    """
    home = Home.of(recipes.settings)
    with temporary_folder("lightrag-plan-") as folder:
        copy = Home(folder)
        refresh(home)
        copy_home(home, copy)
        copy_decisions(home, copy)
        if found := read(copy):
            write(copy, found.model_copy(update={"database": None}))
        settings = recipes.settings.model_copy(update={"home": copy.root, "database": None, "engine": "local"})
        yield replace(recipes, settings=settings)


def copy_home(home: Home, copy: Home) -> None:
    """Give a new home the records, tables and generations of another; raises StoreError as `overlay`."""
    _fetch(home)
    try:
        copy.root.mkdir(parents=True, exist_ok=True)
        for pointer in (home.format, home.published, home.newest, home.held):
            if pointer.exists():
                shutil.copy(pointer, copy.root)
        for part in filter(Path.exists, (home.root / "tables", home.root / "accepted", home.generations)):
            shutil.copytree(part, copy.root / part.name, copy_function=_link)
    except OSError as error:
        raise StoreError(f"{home.root} cannot be copied: {error.strerror or error}; try again") from error


def _fetch(home: Home) -> None:
    """Fetch what a build reads where it is missing: the current tables of every source, and the newest generation."""
    tables = SourceTables(home)
    for path in (path for name in ("current", "candidate") for path in home.root.glob(f"tables/*/*/{name}.json")):
        with suppress(ValidationError):  # it is damaged, and reading the table raises StoreError
            one = TableVersion.model_validate_json(path.read_bytes())
            tables.open(one.table, one.source, one.version)
    with suppress(StoreError):
        if pointer := read_record(home.newest, Pointer, "ignore"):
            generations.fetched(home, pointer.id)


def _link(source: str, target: str) -> None:
    """Copy a record, and make a link to any other file."""
    if source.endswith(".json"):
        shutil.copy(source, target)
    else:
        Path(target).symlink_to(Path(source).absolute())
