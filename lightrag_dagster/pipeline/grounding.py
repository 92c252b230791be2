"""Names that their chunks have: the share of them in a sample of a source, by recipe of the extraction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.views_file import derived_sql
from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, EXTRACTIONS
from lightrag_dagster.storage.duckdb import in_memory, unreadable, view_files
from lightrag_dagster.storage.tables.source_tables import SourceTables

if TYPE_CHECKING:
    import duckdb

SAMPLED_CHUNKS = 200
"""Chunks of each recipe that are looked at, those with the smallest ids: a share is right to some hundredths."""


class GroundedNames(NamedTuple):
    """Names that answers of one recipe have given to the entities of some chunks, and those that are there."""

    names: int
    grounded: int

    @property
    def share(self) -> float:
        """The share of names that their chunk has, 0 to 1; 1 where there are none."""
        return self.grounded / self.names if self.names else 1.0


def grounded_names(tables: SourceTables, sources: Sequence[str]) -> dict[str, dict[str, GroundedNames]]:
    """Count the names in a sample of each source's chunks, by recipe of their extraction; the rule is `grounding`.

    One statement for many sources: to plan it takes ten times as long as to run it for a small one.

    Raises:
        StoreError: a table is missing or damaged.
    """
    import duckdb

    try:
        with in_memory() as connection:
            return _counted(connection, tables, sources)
    except duckdb.Error as error:
        raise StoreError(unreadable(error)) from error


def _counted(
    connection: "duckdb.DuckDBPyConnection", tables: SourceTables, sources: Sequence[str]
) -> dict[str, dict[str, GroundedNames]]:
    views = {"all_chunk": CHUNKS, "extractions": EXTRACTIONS, "mention": ENTITY_MENTIONS}
    for (view, schema), table in zip(views.items(), ("chunks", "extractions", "entity_mentions"), strict=True):
        versions = {source: tables.require(table, source).version for source in sources}
        files = [path for source, version in versions.items() for path in tables.open(table, source, version)]
        view_files(connection, view, files, schema)
    connection.execute(f"SET VARIABLE most = {SAMPLED_CHUNKS}")
    connection.execute(read_sql(__package__, "sql/sampled_names"))
    connection.execute(derived_sql()["grounding"].replace("CREATE VIEW", "CREATE TEMP VIEW"))
    counted = connection.execute(
        "SELECT source, recipe, count(grounded), count(*) FILTER (grounded) FROM grounding GROUP BY ALL ORDER BY recipe"
    )
    found: dict[str, dict[str, GroundedNames]] = {source: {} for source in sources}
    for source, recipe, names, grounded in counted.fetchall():
        found[source][recipe] = GroundedNames(names, grounded)
    return found
