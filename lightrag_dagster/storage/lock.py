"""One builder of a home, one ingestion of a source and one user of the batches at a time.

The locks are files beside SQLite and advisory locks in Postgres. The system releases both when the holder dies.
"""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage import bucket, formats
from lightrag_dagster.storage.formats import MIGRATIONS, Migrations
from lightrag_dagster.storage.held import Lock
from lightrag_dagster.storage.home import Home

_log = logging.getLogger(__name__)


@contextmanager
def building(home: Home, timeout: float, migrations: Migrations = MIGRATIONS) -> Iterator[Lock]:
    """Hold the home's builder lock for the block; a process that holds it already enters at once.

    A new home gets today's format, and an older one is brought forward.

    Args:
        home: the home that is built in.
        timeout: how long to wait for another process. Seconds.
        migrations: what brings an older home forward.

    Raises:
        BuilderLockedError: another process still held the lock after `timeout`.
        StoreError: the home cannot be written or has a newer format, or the database cannot be reached.
    """
    with builder_lock(home, timeout) as lock, bucket.writing(home, lock):
        if formats.bring_forward(home, migrations):
            bucket.push(home, lock)
        yield lock


@contextmanager
def builder_lock(home: Home, timeout: float) -> Iterator[Lock]:
    """Hold only the builder's lock, in a home of any state; raises as `building`."""
    with _held(home, home.lock, timeout, f"is building in {home.name}", any_thread=True) as lock:
        yield lock


@contextmanager
def ingesting(home: Home, source: str, timeout: float) -> Iterator[Lock]:
    """Hold the lock of one source for the block; a thread that holds it already enters at once.

    Args:
        home: the home that is ingested into.
        source: name of the source.
        timeout: how long to wait for another process or thread. Seconds.

    Raises:
        BuilderLockedError: another process or thread still held the lock after `timeout`.
        OlderFormatError: a builder must bring the home forward first.
        StoreError: the home cannot be written or has a newer format, or the database cannot be reached.
    """
    with source_lock(home, source, timeout) as lock, bucket.writing(home):
        formats.begin(home)
        yield lock


@contextmanager
def source_lock(home: Home, source: str, timeout: float) -> Iterator[Lock]:
    """Hold only the lock of one source, without taking over what others wrote; raises as `ingesting`."""
    with _held(home, home.source_lock(source), timeout, f"is ingesting source {source!r}") as lock:
        yield lock


@contextmanager
def using_batches(home: Home, timeout: float) -> Iterator[Lock]:
    """Hold the lock of the home's batches for the block; a thread that holds it already enters at once.

    Args:
        home: the home of the batches.
        timeout: how long to wait for another process or thread. Seconds.

    Raises:
        BuilderLockedError: another process or thread still held the lock after `timeout`.
        StoreError: the home cannot be written, or the database cannot be reached.
    """
    with _held(home, home.batches_lock, timeout, f"is busy with the batches of {home.name}") as lock:
        yield lock


@contextmanager
def _held(home: Home, path: Path, timeout: float, what: str, *, any_thread: bool = False) -> Iterator[Lock]:
    """Hold a lock that is named by a path in the home, for the block."""
    if home.database is None:
        with _file_held(path, timeout, what, any_thread=any_thread) as lock:
            yield lock
    else:
        from lightrag_dagster.storage.postgres_lock import postgres_held

        name = str(path.relative_to(home.root).with_suffix(""))
        with postgres_held(home.database, name, timeout, what, any_thread=any_thread) as lock:
            yield lock


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


@contextmanager
def _file_held(path: Path, timeout: float, what: str, *, any_thread: bool) -> Iterator[Lock]:
    # One lock object a path and process is what makes it re-entrant; shared by threads for `any_thread`.
    lock, holder = FileLock(path, thread_local=not any_thread, is_singleton=True), path.with_suffix(".pid")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, holder, timeout, what)
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror or error}; make the home writable") from error
    try:
        holder.write_text(f"{os.getpid()} on {socket.gethostname()}", encoding="utf-8")
        yield _HeldFile(lock)
    finally:
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


def report_waiting(holder: str, what: str, timeout: float) -> None:
    """Log who is waited for."""
    _log.info("%s %s; waiting up to %.0f s", holder, what, timeout)


def still_locked(holder: str, what: str, timeout: float) -> BuilderLockedError:
    """Return the error of a process that waited too long."""
    return BuilderLockedError(
        f"{holder} {what} and did not finish within {timeout:.0f} s; wait for it, or end it, and run again"
    )


def _name(holder: Path) -> str:
    try:
        return f"process {holder.read_text(encoding='utf-8')}"
    except OSError:  # between taking the lock and writing the number, or between the reverse
        return "another process"
