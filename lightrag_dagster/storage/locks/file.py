"""Locks of the system on files, which it releases when the holder dies."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.locks.base import Lock, report_waiting, still_locked


class _HeldFile:
    """A lock file; the lock holds as long as the path leads to the file that was locked."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock
        self._path = Path(lock.lock_file)
        self._file = self._path.stat().st_ino

    def still_held(self) -> bool:
        try:
            return self._lock.is_locked and self._path.stat().st_ino == self._file
        except OSError:
            return False


class FileLocks:
    """Locks of the system on the files that name them."""

    @contextmanager
    def hold(self, path: Path, timeout: float, what: str, *, any_thread: bool) -> Iterator[Lock]:
        """See `Locks.hold`."""
        # One lock object a path and process is what makes it re-entrant; shared by threads for `any_thread`.
        lock = FileLock(path, thread_local=not any_thread, is_singleton=True)
        holder = path.with_suffix(".pid")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _acquire(lock, holder, timeout, what)
        except OSError as error:
            raise StoreError(f"cannot lock {path}: {error.strerror or error}; make the home writable") from error
        try:
            with suppress(OSError):  # on a full disk others are told of another process, and `gc` makes room
                holder.write_text(f"{os.getpid()} on {socket.gethostname()}", encoding="utf-8")
            yield _HeldFile(lock)
        finally:
            with suppress(OSError):  # of a folder that was closed meanwhile, where the lock is given back all the same
                if lock.lock_counter == 1:
                    holder.unlink(missing_ok=True)
            lock.release()


def _acquire(lock: FileLock, holder: Path, timeout: float, what: str) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report_waiting(_name(holder), what, timeout)
        try:
            lock.acquire(timeout=timeout)
        except Timeout as error:
            raise still_locked(_name(holder), what, timeout) from error


def _name(holder: Path) -> str:
    try:
        return f"process {holder.read_text(encoding='utf-8')}"
    except OSError:  # between taking the lock and writing the number, or between the reverse
        return "another process"
