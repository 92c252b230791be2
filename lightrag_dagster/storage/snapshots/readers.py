"""Marks of readers: a snapshot on a disk that some process has open is known, and kept.

A reader shares a lock of the system on a file of the snapshot, which is released when it closes it, or dies. A reader
needs no right to write for that. In a bucket, and on file systems without locks, `retention.grace_days` alone keeps it.
"""

import fcntl
import os
import weakref
from contextlib import suppress

from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import RECORD


class Mark:
    """A shared lock of this process on a snapshot, until it is closed or forgotten."""

    def __init__(self, descriptor: int) -> None:
        self._end = weakref.finalize(self, os.close, descriptor)

    def close(self) -> None:
        """Release the lock."""
        self._end()


def mark_read(home: Home, snapshot_id: str) -> Mark | None:
    """Mark a snapshot as open; return None where the system cannot."""
    if home.bucket:
        return None
    with suppress(OSError):
        descriptor = os.open(home.generation(snapshot_id) / RECORD, os.O_RDONLY | os.O_CLOEXEC)
        mark = Mark(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return mark
    return None


def is_read(home: Home, snapshot_id: str) -> bool:
    """Say whether a process is known to have a snapshot open."""
    if home.bucket:
        return False
    record = home.generation(snapshot_id) / RECORD
    mode = "r+b" if os.access(record, os.W_OK) else "rb"  # NFS locks for one alone only what that may write
    with suppress(OSError), record.open(mode) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
