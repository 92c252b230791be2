"""Tables made from the published snapshot when they are asked for, and kept until another one is published."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables

OF_SNAPSHOT = "knowledge_base"
"""The input that names the snapshot which a table was made from."""


def of_snapshot(
    home: Home, table: str, recipe: str, make: Callable[[Generation], pa.Table], inputs: Mapping[str, str] | None = None
) -> pa.Table:
    """Return a table of the published snapshot: the stored one, if it was made from it by this recipe, else a new one.

    `inputs` are what else it depends on.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: a table of the snapshot is missing or damaged, or the home cannot be written.
    """
    snapshot_id, tables = require_published(home).snapshot_id, SourceTables(home)
    made_from = {OF_SNAPSHOT: snapshot_id, **(inputs or {})}
    known = tables.current(table, ALL_SOURCES)
    if known and (known.inputs, known.recipe) == (made_from, recipe):
        return tables.read(table, ALL_SOURCES, known.version)
    rows = make(CheckedGeneration.of(home, snapshot_id))
    tables.write(table, ALL_SOURCES, rows, inputs=made_from, recipe=recipe)
    return rows
