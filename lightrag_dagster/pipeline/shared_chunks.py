"""Chunks that several sources share, and whose extraction is merged for them."""

from collections import Counter
from importlib.resources import files

from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.files import bucket
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables


def outdated_elsewhere(settings: Settings, source: str) -> dict[str, int]:
    """Count the chunks of a source for which the merge takes an outdated row of another source, by that source.

    A chunk follows the first source by name that has a row for it that did not fail.

    Raises:
        SourceError: the folder of sources cannot be listed.
        StoreError: the home is damaged.
    """
    import duckdb

    home, recipes = Home.of(settings), Recipes.of(settings)
    tables = SourceTables(home)
    before = [name for name in find_sources(settings) if name <= source]
    records = {name: record.tables["extractions"] for name in before if (record := accepted(home, name))}
    if source not in records:
        return {}
    paths = [path for name, version in records.items() for path in tables.paths("extractions", name, version)]
    bucket.fetch(home, paths)
    with duckdb.connect() as connection:
        connection.read_parquet([str(path) for path in paths], union_by_name=True).create_view("extractions")
        statement = files(__package__).joinpath("sql/outdated_elsewhere.sql").read_text(encoding="utf-8")
        followed = Counter[str]()
        for other, recipe, chunks in connection.execute(statement, {"source": source}).fetchall():
            if recipe != recipes.of_source(other).extractions:
                followed[other] += chunks
    return dict(followed)
