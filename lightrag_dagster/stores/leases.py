"""Leases: a reader's word that it still uses a snapshot, kept by the operating system.

Each is a file in the home that its reader holds locked. The lock goes when the process does, however it ends, so a
lease that can be locked is nobody's any more.
"""

import contextlib
import os
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from lightrag_dagster.stores.home import Home


class Lease:
    """One reader's hold on one snapshot, until `release` or the end of the process."""

    def __init__(self, home: Home, snapshot_id: str) -> None:
        """Take the lease; where the home cannot be written, nothing is removed from it either, and none is needed."""
        self._lock: FileLock | None = None
        if not os.access(home.root, os.W_OK):
            return
        home.leases.mkdir(exist_ok=True)
        path = home.leases / f"{snapshot_id}.{uuid4().hex}"
        # An event loop's other threads may let go of what this one took.
        self._lock = FileLock(path, thread_local=False)
        self._lock.acquire()

    def release(self) -> None:
        """Give the lease back; again does nothing."""
        if self._lock is not None:
            self._lock.release()
            Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock = None


def leased(home: Home) -> set[str]:
    """Return the snapshots that living readers hold, and remove what dead ones left behind."""
    held = set()
    for path in home.leases.glob("gen-*"):
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            held.add(path.name.partition(".")[0])
            continue
        lock.release()
        with contextlib.suppress(OSError):
            path.unlink()
    return held
