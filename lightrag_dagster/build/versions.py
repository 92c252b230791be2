"""The old name of `build.recipe`, until every caller uses the new one."""

from lightrag_dagster.build.recipe import Recipes as Versions

__all__ = ["Versions"]
