"""Graph databases of older snapshots, which readers make again in their cache, never in the home.

<cache.folder>/<hash of the home>/graphs/<id>.kuzu   such a graph, and a lock for its making; those of scopes, too
"""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import CacheSettings
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.files.cache import note_use, remove_oldest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation

_log = logging.getLogger(__name__)


def made_graph(generation: Generation, cache: CacheSettings, make: Callable[[Path], object]) -> Path:
    """Return a graph in the cache, made there by one process while others wait, unless it was made before.

    Args:
        generation: its generation.
        cache: the place and size of the cache.
        make: writes the graph to a path, whole or not at all.

    Raises:
        StoreError: the disk refuses; or as `make`.
    """
    folder = _folder(generation.home, cache)
    path = folder / f"{generation.id}.kuzu"
    with disk_errors(f"the cache {folder}", "change cache.folder"):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not path.exists():
                for leftover in folder.glob(f".{path.name}.*"):  # of a process that was killed
                    shutil.rmtree(leftover)
                _log.warning("the graph of %s is made again in %s", generation.id, folder)
                make(path)
                remove_oldest(folder.glob("*.kuzu"), cache.max_gb * 1e9)
            note_use(path)
    return path


def forget_made_graphs(home: Home, cache: CacheSettings) -> None:
    """Remove all such graphs of a home and its scopes on this machine; raises StoreError when the disk refuses."""
    folder = _folder(home, cache)
    with disk_errors(folder, "purge again"):
        if folder.exists():
            shutil.rmtree(folder)


def _folder(home: Home, cache: CacheSettings) -> Path:
    home = home.parent or home
    return cache.folder.expanduser().absolute() / digest(home.bucket or str(home.root.resolve())) / "graphs"
