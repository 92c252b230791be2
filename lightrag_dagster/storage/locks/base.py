"""A lock that was acquired, the check that it was not lost since, and messages about its holder."""

import logging
from typing import Protocol

from lightrag_dagster.errors import BuilderLockedError

_log = logging.getLogger(__name__)


class Lock(Protocol):
    """A lock that was acquired."""

    def still_held(self) -> bool:
        """Ask the system again; False when the lock was lost, as by a broken connection or a deleted lock file."""


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
