"""A lock that was acquired, the check that it was not lost since, and messages about its holder."""

import logging
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

from lightrag_dagster.core.holding import holding
from lightrag_dagster.errors import BuilderLockedError

COMMAND_SECONDS = 5.0
"""Time that a command waits for another process before it says so, unless it is told another."""

STEP_SECONDS = 3600.0
"""Time that a step waits for another process: longer than any merge, shorter than a night."""

_log = logging.getLogger(__name__)
_patience: ContextVar[float] = ContextVar("patience", default=COMMAND_SECONDS)


def waiting_for_locks(seconds: float) -> AbstractContextManager[None]:
    """Make commands in the block wait so long for another process."""
    return holding(_patience, seconds)


def patience(seconds: float | None) -> float:
    """Return the seconds that are given, or else those of the command."""
    return _patience.get() if seconds is None else seconds


class Lock(Protocol):
    """A lock that was acquired."""

    def still_held(self) -> bool:
        """Ask the system again; False when the lock was lost, as by a broken connection or a deleted lock file."""


class Locks(Protocol):
    """The locks of a home, which the system or the server releases when the holder dies."""

    def hold(self, path: Path, timeout: float, what: str, *, any_thread: bool) -> AbstractContextManager[Lock]:
        """Hold a lock for the block; its owner, who holds it already, enters at once.

        Args:
            path: The file of the lock, or the path that names it in a database.
            timeout: Time to wait for another owner. Seconds.
            what: The work of the lock's holder, for messages.
            any_thread: The whole process owns the lock, so that its other threads enter at once.

        Raises:
            BuilderLockedError: another owner still held the lock after `timeout`.
            StoreError: the file cannot be written, or the database cannot be reached.
        """


def require_held(lock: Lock | None) -> None:
    """Check that a lock, if one is given, was not lost; raises BuilderLockedError."""
    if lock is not None and not lock.still_held():
        raise BuilderLockedError(
            "the builder's lock was lost, so that another process may be building; nothing was published, run again"
        )


def report_waiting(holder: str, what: str, timeout: float) -> None:
    """Log who is waited for."""
    _log.info("%s %s; waiting up to %.0f s", holder, what, timeout)


def still_locked(holder: str, what: str, timeout: float) -> BuilderLockedError:
    """Return the error of a process that waited too long."""
    return BuilderLockedError(
        f"{holder} {what} and did not finish within {timeout:.0f} s; wait for it, or end it, and run again"
    )
