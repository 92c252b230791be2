"""One builder of a home, one ingestion of a source and one user of the batches at a time.

The locks are files beside SQLite and advisory locks in Postgres. The system releases both when the holder dies. Who
gives no time waits as long as the command does: COMMAND_SECONDS, or its option `--wait-lock`.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.base import Lock, patience


@contextmanager
def building(home: Home, timeout: float | None = None) -> Iterator[Lock]:
    """Hold the home's builder lock for the block; a process that holds it already enters at once.

    A new home gets today's format.

    Args:
        home: the home that is built in.
        timeout: how long to wait for another process. Seconds.

    Raises:
        BuilderLockedError: another process still held the lock after `timeout`.
        StoreError: the home cannot be written or has another layout, or the database cannot be reached.
    """
    with builder_lock(home, timeout) as lock, home.files.session(lock):
        if home_format.begin(home):
            home.files.push(lock)
        yield lock


def builder_lock(home: Home, timeout: float | None = None) -> AbstractContextManager[Lock]:
    """Hold only the builder's lock, in a home of any state; raises as `building`."""
    return home.locks.hold(home.lock, patience(timeout), f"is building in {home.name}", any_thread=True)


@contextmanager
def ingesting(home: Home, source: str, timeout: float | None = None) -> Iterator[Lock]:
    """Hold the lock of one source for the block; a thread that holds it already enters at once.

    Args:
        home: the home that is ingested into.
        source: name of the source.
        timeout: how long to wait for another process or thread. Seconds.

    Raises:
        BuilderLockedError: another process or thread still held the lock after `timeout`.
        StoreError: the home cannot be written or has another layout, or the database cannot be reached.
    """
    with source_lock(home, source, timeout) as lock, home.files.session(lock):
        home_format.begin(home)
        yield lock


def source_lock(home: Home, source: str, timeout: float | None = None) -> AbstractContextManager[Lock]:
    """Hold only the lock of one source, without taking over what others wrote; raises as `ingesting`."""
    what = f"is ingesting source {source!r}"
    return home.locks.hold(home.source_lock(source), patience(timeout), what, any_thread=False)


def is_ingested(home: Home, source: str) -> bool:
    """Say whether another process or thread ingests a source now; False where that cannot be told."""
    try:
        with source_lock(home, source, 0):
            return False
    except BuilderLockedError:
        return True
    except StoreError:  # a home that this process may only read
        return False


def using_batches(home: Home, timeout: float | None = None) -> AbstractContextManager[Lock]:
    """Hold the lock of the home's batches for the block; a thread that holds it already enters at once.

    Args:
        home: the home of the batches.
        timeout: how long to wait for another process or thread. Seconds.

    Raises:
        BuilderLockedError: another process or thread still held the lock after `timeout`.
        StoreError: the home cannot be written, or the database cannot be reached.
    """
    what = f"is busy with the batches of {home.name}"
    return home.locks.hold(home.batches_lock, patience(timeout), what, any_thread=False)
