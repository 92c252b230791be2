"""Graph databases of older snapshots, which readers make again in their cache, never in the home.

<cache.folder>/<hash of the home>/graphs/<id>.kuzu   such a graph, those of scopes, too
<cache.folder>/<hash of the home>/graphs/<id>.json   its size and hash
<cache.folder>/<hash of the home>/graphs/lock        held by the process that makes one
"""

import logging
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from filelock import FileLock

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import CacheSettings
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.files.cache import note_use, remove_oldest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import FileSum
from lightrag_dagster.storage.records import read_record
from lightrag_dagster.storage.snapshots.generations import GRAPH, Generation

_log = logging.getLogger(__name__)


def made_graph(generation: Generation, cache: CacheSettings, make: Callable[[Path], object]) -> Path:
    """Return a graph in the cache, made there by one process while others wait, unless it is there as it was made.

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
        if not _is_sound(path):
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / "lock"):
                if not _is_sound(path):
                    _make(path, cache, make)
        note_use(path)
    return path


def _make(path: Path, cache: CacheSettings, make: Callable[[Path], object]) -> None:
    """Make a graph and note its size and hash, and remove what killed processes left and what the cache cannot hold."""
    for leftover in path.parent.glob(f".{GRAPH}.*"):
        shutil.rmtree(leftover)
    _log.warning("the graph of %s is made again in %s", path.stem, path.parent)
    make(path)
    _sum_file(path).write_text(FileSum.of(path).model_dump_json())
    for gone in remove_oldest(path.parent.glob("*.kuzu"), cache.max_gb * 1e9)[0]:
        _sum_file(gone).unlink(missing_ok=True)


def _is_sound(path: Path) -> bool:
    """Say whether a graph is there as it was made; each process reads it once."""
    try:
        found, made = path.stat(), read_record(_sum_file(path), FileSum)
        return made is not None and made == _sum(path, found.st_mtime_ns, found.st_size)
    except (FileNotFoundError, StoreError):
        return False


@lru_cache
def _sum(path: Path, _changed: int, _size: int) -> FileSum:
    return FileSum.of(path)


def _sum_file(path: Path) -> Path:
    return path.with_suffix(".json")


def forget_made_graphs(home: Home, cache: CacheSettings) -> None:
    """Remove all such graphs of a home and its scopes on this machine; raises StoreError when the disk refuses."""
    folder = _folder(home, cache)
    with disk_errors(folder, "purge again"):
        if folder.exists():
            shutil.rmtree(folder)


def _folder(home: Home, cache: CacheSettings) -> Path:
    home = home.parent or home
    return cache.folder.expanduser().absolute() / digest(home.bucket or str(home.root.resolve())) / "graphs"
