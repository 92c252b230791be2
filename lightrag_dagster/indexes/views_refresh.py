"""Renewal of the views of snapshots that were made elsewhere, are missing or damaged."""

import logging

from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.views_file import is_current
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.records import Pointer, read_record
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import link_views, list_snapshots

_log = logging.getLogger(__name__)


def refresh_views(home: Home, *, verify: bool = False) -> None:
    """Rebuild the views of snapshots that were made elsewhere, as in a copy of a home, or are missing or damaged.

    If the home cannot be written, or a table of a snapshot is missing, they stay as they are. A bucket has none.
    """
    if home.bucket:
        return
    for manifest in list_snapshots(home):
        generation = Generation(home, manifest.snapshot_id)
        try:
            if not is_current(generation, verify=verify):
                from lightrag_dagster.indexes.views import build_views  # `status` comes here, and needs no DuckDB

                build_views(generation, verify=verify)
        except StoreError as error:
            _log.info("the views of %s are not made again: %s", generation.id, error)
    if published := read_record(home.published, Pointer):
        link_views(home, published.id)
