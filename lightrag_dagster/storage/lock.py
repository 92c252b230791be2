"""One builder of a home, one ingestion of a source at a time: locks that the system releases when the holder dies."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage.home import Home

_log = logging.getLogger(__name__)


@contextmanager
def building(home: Home, timeout: float) -> Iterator[None]:
    """Hold the home's builder lock for the block; a process that holds it already enters at once.

    Args:
        home: the home that is built in.
        timeout: how long to wait for another process. Seconds.

    Raises:
        BuilderLockedError: another process still held the lock after `timeout`.
        StoreError: the home cannot be written.
    """
    # One lock object a path and process, shared by its threads, is what makes it re-entrant.
    lock = FileLock(home.lock, thread_local=False, is_singleton=True)
    with _held(lock, home.lock_holder, timeout, f"is building in {home.root}"):
        yield


@contextmanager
def ingesting(home: Home, source: str, timeout: float) -> Iterator[None]:
    """Hold the lock of one source for the block; a thread that holds it already enters at once.

    Args:
        home: the home that is ingested into.
        source: name of the source.
        timeout: how long to wait for another process or thread. Seconds.

    Raises:
        BuilderLockedError: another process or thread still held the lock after `timeout`.
        StoreError: the home cannot be written.
    """
    path = home.source_lock(source)
    with _held(FileLock(path, is_singleton=True), path.with_suffix(".pid"), timeout, f"is ingesting source {source!r}"):
        yield


@contextmanager
def _held(lock: FileLock, holder: Path, timeout: float, what: str) -> Iterator[None]:
    path = Path(lock.lock_file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, holder, timeout, what)
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror or error}; make the home writable") from error
    try:
        holder.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        if lock.lock_counter == 1:
            holder.unlink(missing_ok=True)
        lock.release()


def _acquire(lock: FileLock, holder: Path, timeout: float, what: str) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _log.info("%s %s; waiting up to %.0f s", _name(holder), what, timeout)
        try:
            lock.acquire(timeout=timeout)
        except Timeout as error:
            raise BuilderLockedError(
                f"{_name(holder)} {what} and did not finish within {timeout:.0f} s; "
                "wait for it, or end it, and run again"
            ) from error


def _name(holder: Path) -> str:
    try:
        return f"process {holder.read_text(encoding='ascii')}"
    except OSError:  # between taking the lock and writing the number, or between the reverse
        return "another process"
