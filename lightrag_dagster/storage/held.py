"""A lock that was acquired, and the check that it was not lost since."""

from typing import Protocol

from lightrag_dagster.errors import BuilderLockedError


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
