"""The cache of a bucket: folders on the local disk, each claimed by one process, under a limit of size.

<cache>/<hash of the URI>/0, 1, 2, …  one folder for each process that runs at the same time
<cache>/<hash of the URI>/0.lock      held by the process that uses the folder
<cache>/<hash of the URI>/graphs/     graph databases of older snapshots, as `snapshots.made_graphs` says
<cache>/<hash of the URI>/dagster/    the Dagster instance, unless $DAGSTER_HOME is set; batches/, failures.jsonl

Processes have a folder each, so that none sees the unfinished records of another.
"""

import itertools
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from lightrag_dagster.core.holding import Once
from lightrag_dagster.core.identity import digest
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.files.notes import Notes

UNUSED_SECONDS = 3600.0
"""Files that were used within this time are never removed. Seconds."""

_claimed: list[FileLock] = []


@Once
def claim_folder(caches: Path, uri: str) -> Path:
    """Return the folder that this process uses for a bucket, claimed until the process ends.

    Raises:
        StoreError: the folder cannot be written.
    """
    base = caches / digest(uri)
    with disk_errors(f"the cache {base}", "change cache.folder"):
        base.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            lock = FileLock(base / f"{number}.lock")
            with suppress(Timeout):
                lock.acquire(timeout=0)
                _claimed.append(lock)
                break
        folder = base / str(number)
        folder.mkdir(exist_ok=True)
        Notes(folder).tidy()
    return folder


def is_claimed(folder: Path) -> bool:
    """Say whether this process has claimed a folder."""
    return any(lock.lock_file == f"{folder}.lock" for lock in _claimed)


def empty_unclaimed(root: Path) -> None:
    """Remove the folders of processes that have ended, except `root`."""
    for folder in {*root.parent.glob("[0-9]*/")} - {root}:
        with suppress(Timeout), FileLock(f"{folder}.lock").acquire(timeout=0):
            shutil.rmtree(folder)


def evict(root: Path, folders: Iterable[str], limit: float, notes: Notes) -> int:
    """Remove the files of a folder that were not used for longest, until the others take at most `limit` bytes.

    Files that are not in the bucket, or were used within UNUSED_SECONDS, stay. Return how many bytes are left.
    """
    found = [path for folder in folders for path in (root / folder).rglob("*") if path.suffix != ".json"]
    held = notes.held(path.relative_to(root).as_posix() for path in found if path.is_file())
    gone, total = remove_oldest(map(root.joinpath, held), limit)
    notes.forget(path.relative_to(root).as_posix() for path in gone)
    return total


def remove_oldest(paths: Iterable[Path], limit: float) -> tuple[list[Path], int]:
    """Remove the files that were not used for longest, as `evict` says; return these, and the bytes of the others."""
    facts, gone = [], []
    for path in paths:
        with suppress(FileNotFoundError):  # workers share the folder
            found = path.stat()
            facts.append((found.st_atime, found.st_size, path))
    total = sum(size for _, size, _ in facts)
    oldest = time.time() - UNUSED_SECONDS
    for used, size, path in sorted(facts):
        if total <= limit or used > oldest:
            break
        total -= size
        path.unlink(missing_ok=True)
        gone.append(path)
    return gone, total


def note_use(path: Path) -> None:
    """Set when a file was used last, if it is there, and leave the time alone when it was written."""
    with suppress(FileNotFoundError):
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
