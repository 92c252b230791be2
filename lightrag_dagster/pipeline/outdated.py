"""Outdated rows: those of another recipe than today's, in the tables of a source."""

from collections.abc import Mapping

from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.storage.versions import TableVersion


def outdated_rows(versions: Mapping[str, TableVersion], recipes: Recipes) -> dict[str, int]:
    """Return table → rows of another recipe, for those tables of a source that have some."""
    counted = {name: one.outdated(recipe) for name, one in versions.items() if (recipe := recipes.row_recipe(name))}
    return {name: rows for name, rows in counted.items() if rows}
