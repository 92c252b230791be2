"""Leases: a reader's word that it still uses a snapshot, kept by the operating system.

Each is a file in the home that its reader holds locked. The lock goes when the process does, however it ends, so a
lease that can be locked is nobody's any more. Where the home cannot be written there are none: reading goes on, and
docs/snapshots.md says what protects such readers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from lightrag_dagster.storage.home import Home


class Lease:
    """One reader's hold on one snapshot, until `release`, or the end of the process."""

    def __init__(self, home: Home, snapshot_id: str) -> None:
        """Take the lease; do so inside `door`."""
        self._lock = _locked(home.leases / f"{snapshot_id}.{uuid4().hex}")

    def release(self) -> None:
        """Give the lease back; again does nothing."""
        if self._lock is not None:
            Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock.release()
            self._lock = None


@contextmanager
def door(home: Home) -> Iterator[None]:
    """Hold the way in for one block, briefly: a reader chooses a snapshot and leases it inside, or `gc` removes some.

    So nobody opens what is being removed.
    """
    lock = _locked(home.leases / "door")
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def leased(home: Home) -> set[str]:
    """Return the snapshots that living readers hold, and remove what dead ones left behind; do so inside `door`."""
    held = set()
    for path in home.leases.glob("gen-*"):
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            held.add(path.name.partition(".")[0])
            continue
        path.unlink(missing_ok=True)
        lock.release()
    return held


def _locked(path: Path) -> FileLock | None:
    """Return a new lock, held; None where it cannot be, since a full or read-only disk must not keep readers out."""
    # An event loop's other threads may let go of what this one took.
    lock = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(exist_ok=True)
        lock.acquire()
    except OSError:
        return None
    return lock
