"""The communities of the published graph."""

import pyarrow as pa

from lightrag_dagster.indexes.communities import RECIPE, find_communities
from lightrag_dagster.pipeline.of_snapshot import of_snapshot
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation


def communities(home: Home) -> pa.Table:
    """Return COMMUNITIES of the published snapshot, which are found first unless they are stored.

    Raises:
        NoSnapshotError: nothing is published yet.
        SettingsError: the extra `graph` is not installed.
        StoreError: a table of the snapshot is missing or damaged.
    """
    return of_snapshot(home, "communities", RECIPE, communities_of)


def communities_of(generation: Generation) -> pa.Table:
    """Find COMMUNITIES of any snapshot, without a look at what is stored; raises as `communities`."""
    entities = generation.read_table("entities", ["entity_id", "name", "description", "degree"])
    return find_communities(entities, generation.read_table("relations", ["src_id", "tgt_id", "weight"]))
