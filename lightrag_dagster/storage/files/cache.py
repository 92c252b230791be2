"""The cache of a bucket: folders on the local disk, each claimed by one process, under a limit of size.

<cache>/<hash of the URI>/0, 1, 2, …  one folder for each process that runs at the same time
<cache>/<hash of the URI>/0.lock      held by the process that uses the folder
<cache>/<hash of the URI>/dagster/    the Dagster instance, unless $DAGSTER_HOME is set; batches/, failures.jsonl

Processes have a folder each, so that none sees the unfinished records of another. What one has fetched, the others
link: the bytes are on the disk once.
"""

import itertools
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import StoreError

UNUSED_SECONDS = 3600.0
"""Files that were used within this time are never removed. Seconds."""

HELD = 0o444
"""Mode of a file that the bucket holds as it is; every other file is still to be uploaded."""

_claimed: list[FileLock] = []


@cache
def claim_folder(caches: Path, uri: str) -> Path:
    """Return the folder that this process uses for a bucket, claimed until the process ends.

    Raises:
        StoreError: the folder cannot be written.
    """
    base = caches / digest(uri)
    try:
        base.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            lock = FileLock(base / f"{number}.lock")
            with suppress(Timeout):
                lock.acquire(timeout=0)
                _claimed.append(lock)
                break
        folder = base / str(number)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write the cache {base}: {error.strerror or error}; change cache.folder") from error
    return folder


def is_claimed(folder: Path) -> bool:
    """Say whether this process has claimed a folder."""
    return any(lock.lock_file == f"{folder}.lock" for lock in _claimed)


def is_held(path: Path) -> bool:
    """Say whether a file of the cache is there, and in the bucket as it is."""
    try:
        return not path.stat().st_mode & 0o222
    except FileNotFoundError:
        return False


def link_of_another(root: Path, path: Path, size: int | None = None) -> bool:
    """Link a file of another process's folder, if one has it, with this size if one is given; say whether one has."""
    name = path.relative_to(root)
    for folder in root.parent.glob("[0-9]*/"):
        other = folder / name
        with suppress(OSError):
            if folder != root and is_held(other) and size in (None, other.stat().st_size):
                path.parent.mkdir(parents=True, exist_ok=True)
                os.link(other, path)
                return True
    return False


def empty_unclaimed(root: Path) -> None:
    """Remove the folders of processes that have ended, but `root`."""
    for folder in root.parent.glob("[0-9]*/"):
        with suppress(Timeout):
            if folder != root:
                with FileLock(f"{folder}.lock").acquire(timeout=0):
                    shutil.rmtree(folder)


def evict(root: Path, folders: Iterable[str], limit: float) -> int:
    """Remove the files of a folder that were not used for longest, until the others take at most `limit` bytes.

    Files that are not in the bucket, or were used within UNUSED_SECONDS, stay. Return how many bytes are left.
    """
    found = [path for folder in folders for path in (root / folder).rglob("*") if path.suffix != ".json"]
    facts = sorted((path.stat().st_mtime, path) for path in found if path.is_file() and is_held(path))
    total, oldest = sum(path.stat().st_size for _, path in facts), time.time() - UNUSED_SECONDS
    for used, path in facts:
        if total <= limit or used > oldest:
            break
        total -= path.stat().st_size
        path.unlink()
    return total
