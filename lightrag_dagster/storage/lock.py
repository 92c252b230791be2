"""One builder at a time: an operating-system lock, released by the system when its holder dies."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage.home import Home

_log = logging.getLogger(__name__)


@contextmanager
def building(home: Home, timeout: float) -> Iterator[None]:
    """Hold the home's builder lock for the block; whoever holds it already in this process enters at once.

    Args:
        home: the home that is built in.
        timeout: how long to wait for another process. Seconds.

    Raises:
        BuilderLockedError: another process still held the lock after `timeout`.
        StoreError: the home cannot be written.
    """
    # One lock object a path and process, shared by its threads, is what makes it re-entrant.
    lock = FileLock(home.lock, thread_local=False, is_singleton=True)
    try:
        home.root.mkdir(parents=True, exist_ok=True)
        _acquire(lock, home, timeout)
    except OSError as error:
        raise StoreError(f"cannot lock {home.lock}: {error.strerror or error}; make the home writable") from error
    try:
        home.lock_holder.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        if lock.lock_counter == 1:
            home.lock_holder.unlink(missing_ok=True)
        lock.release()


def _acquire(lock: FileLock, home: Home, timeout: float) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _log.info("%s is building in %s; waiting up to %.0f s", _holder(home), home.root, timeout)
        try:
            lock.acquire(timeout=timeout)
        except Timeout as error:
            raise BuilderLockedError(
                f"{_holder(home)} is building in {home.root} and did not finish within {timeout:.0f} s; "
                "wait for it, or end it, and run again"
            ) from error


def _holder(home: Home) -> str:
    try:
        return f"process {home.lock_holder.read_text(encoding='ascii')}"
    except OSError:  # between taking the lock and writing the number, or between the reverse
        return "another process"
