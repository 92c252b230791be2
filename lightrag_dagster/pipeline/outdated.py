"""Outdated rows: those of another recipe than today's, in a source's own tables or in those that the merge takes."""

from collections import Counter
from collections.abc import Mapping

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.pipeline.extractions import readings_of
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.storage.duckdb import plain_path, spilling
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion


def outdated_rows(versions: Mapping[str, TableVersion], recipes: Recipes) -> dict[str, int]:
    """Return table → rows of another recipe, for those tables of a source that have some."""
    counted = {name: one.outdated(recipe) for name, one in versions.items() if (recipe := recipes.row_recipe(name))}
    return {name: rows for name, rows in counted.items() if rows}


def outdated_elsewhere(situation: Situation, source: str) -> dict[str, int]:
    """Count the rows that the merge takes from another source for chunks of a source, and are outdated, by that source.

    A chunk, in each of its readings, follows the first source by name that has a row for it that did not fail.

    Raises:
        SourceError: the folder of sources cannot be listed.
        StoreError: the home is damaged.
    """
    recipes = situation.recipes
    tables = SourceTables(situation.home)
    followed = Counter[str]()
    for reading in readings_of(recipes, source):
        records = {
            name: version
            for name, record in situation.accepted.items()
            if name in situation.sources and name <= source and (version := record.version(reading.table))
        }
        if source not in records:
            continue
        paths = [path for name, version in records.items() for path in tables.open(reading.table, name, version)]
        with spilling() as connection:
            connection.read_parquet([plain_path(path) for path in paths], union_by_name=True).create_view("extractions")
            found = connection.execute(read_sql(__package__, "sql/outdated_elsewhere"), {"source": source}).fetchall()
            for other, recipe, chunks in found:
                if recipe != reading.recipe(recipes.of_source(other)):
                    followed[other] += chunks
    return dict(followed)
