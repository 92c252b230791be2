"""The place of a snapshot's graph: its generation, or, once another was published, the cache of who asks.

<cache.folder>/<hash of the home>/graphs/<id>.kuzu   a graph that was made again, and a lock for its making
"""

import logging
import shutil
from pathlib import Path

from filelock import FileLock

from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import CacheSettings, Settings
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.files.cache import note_use, remove_oldest
from lightrag_dagster.storage.manifests import BuiltGraph
from lightrag_dagster.storage.records import Pointer, read_record
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.generations import GRAPH, GRAPH_RECORD, Generation

_log = logging.getLogger(__name__)


def require_graph(generation: Generation, settings: Settings) -> Path:
    """Return the graph of a snapshot, fetched from a bucket and checked, or made again in the cache if it was removed.

    Raises:
        IntegrityError: one that is made again differs from the tables.
        StoreError: it is left out, that of the published snapshot is not built or damaged, or the disk refuses.
    """
    home, path, record = generation.home, generation.path(GRAPH), generation.path(GRAPH_RECORD)
    if not (path.exists() and record.exists()):
        home.files.take_over([record, home.published])
    if built := read_record(record, BuiltGraph):
        home.files.open([path], {path: built.file.size})
        if path.exists() and path.stat().st_size == built.file.size:
            if isinstance(generation, CheckedGeneration):
                generation.checks.require([path])
            return path
    published = read_record(home.published, Pointer)
    is_published = published is not None and published.id == generation.id
    if built and is_published:
        what = "damaged" if path.exists() else "missing"
        raise StoreError(f"the graph {path} is {what}; `lightrag-dagster run --verify` builds it again")
    if not settings.builds_graph:
        raise StoreError(
            f"the graph of {generation.id} is left out by the setting dagster.without; take `published_graph` out of "
            "it, and run `lightrag-dagster run`, which builds that of the published snapshot"
        )
    if is_published:
        raise StoreError(
            f"the graph of {generation.id} is not built yet; `lightrag-dagster run` builds that of the published "
            "snapshot"
        )
    return _made_again(generation, home.made_graphs(settings.cache), settings.cache)


def _made_again(generation: Generation, folder: Path, cache: CacheSettings) -> Path:
    """Return a graph in the cache, made there by one process while others wait, unless it was made before."""
    from lightrag_dagster.indexes.cypher.graph import write_graph  # with DuckDB and Kùzu, which no question needs

    path = folder / f"{generation.id}.kuzu"
    with disk_errors(f"the cache {folder}", "change cache.folder"):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not path.exists():
                for leftover in folder.glob(f".{path.name}.*"):
                    shutil.rmtree(leftover)
                _log.warning("the graph of %s is made again in %s", generation.id, folder)
                write_graph(generation, path)
                remove_oldest(folder.glob("*.kuzu"), cache.max_gb * 1e9)
            note_use(path)
    return path
