"""The communities of the published graph."""

from contextlib import suppress

import pyarrow as pa

from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.communities import RECIPE, find_communities
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables


def communities(home: Home) -> pa.Table:
    """Return COMMUNITIES of the published snapshot, which are found first unless they are stored.

    Raises:
        NoSnapshotError: nothing is published yet.
        SettingsError: the extra `graph` is not installed.
        StoreError: a table of the snapshot is missing or damaged.
    """
    snapshot_id, tables = require_published(home).snapshot_id, SourceTables(home)
    made_from = {"knowledge_base": snapshot_id}
    known = tables.current("communities", ALL_SOURCES)
    if known and (known.inputs, known.recipe) == (made_from, RECIPE) and not tables.has_lost(known):
        return tables.read("communities", ALL_SOURCES, known.version)
    rows = communities_of(CheckedGeneration.of(home, snapshot_id))
    with suppress(StoreError):  # where nothing may be written, they are found each time
        tables.write("communities", ALL_SOURCES, rows, inputs=made_from, recipe=RECIPE)
    return rows


def communities_of(generation: Generation) -> pa.Table:
    """Find COMMUNITIES of any snapshot, without a look at what is stored; raises as `communities`."""
    entities = generation.read_table("entities", ["entity_id", "name", "description", "degree"])
    return find_communities(entities, generation.read_table("relations", ["src_id", "tgt_id", "weight"]))
