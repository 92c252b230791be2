"""Names of databases and errors of databases, in messages that show no password and say what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.storage.database.address import Address

BUSY_SECONDS = 60
"""Time one process waits for another's lock on an SQLite file. Seconds."""

_LONGEST_MESSAGE = 300
_STEP = "restore it from a backup, or move it away"
_DAMAGED = f"is damaged; {_STEP}"
_LOST = {
    "responses.sqlite": "its answers are then paid for again",
    "vectors.sqlite": "its vectors are then paid for again",
    "batches.sqlite": "batches that are open at the provider are then forgotten, and paid for again",
    "decisions.sqlite": "`curate undo --lost` then lets the decisions of people in it count as undone",
    "ledger.sqlite": "nothing is paid for again, and budgets count from zero",
}
"""File of a home → the price of moving it away."""
_UNWRITABLE = "cannot be written; check the permissions of the file and its folder, then run again"
_FULL = "does not fit on the disk; free some space and run again, nothing stored was lost"
_SQLITE_ERRORS = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR_SHMSIZE: _FULL,  # even to read it takes a file beside it
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: _UNWRITABLE,
    sqlite3.SQLITE_PERM: _UNWRITABLE,
    sqlite3.SQLITE_BUSY: f"was locked by another process for {BUSY_SECONDS} s; end that one, then run again",
}
_POSTGRES_ERRORS = {
    "53100": _FULL,
    "25006": "is read-only; give LIGHTRAG_DATABASE the address of the primary server",
    "42501": "cannot be written; grant the user of LIGHTRAG_DATABASE the rights to create and change tables",
}


def address_name(address: Address) -> str:
    """Return how messages name a database: its path, or its host and name without user and password."""
    if isinstance(address, Path):
        return str(address)
    url = postgres_url(address.get_secret_value())
    return f"the database {url.database or ''} at {url.host or url.query.get('host') or 'localhost'}"


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn errors of the database or the file system inside the block into a StoreError with the next step."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        step = _next_step(cause, broken=isinstance(error, OperationalError | InterfaceError))
        raise StoreError(damaged(name) if step == _DAMAGED else f"{name} {step}") from error
    except OSError as error:
        step = "let this user write its folder, then run again"
        raise StoreError(f"{name} cannot be created: {error.strerror or error}; {step}") from error


def damaged(name: str | Path, state: str = "is damaged") -> str:
    """Return the message about a damaged database, with the price of moving it away."""
    lost = _LOST.get(Path(name).name)
    return f"{name} {state}; {_STEP}{f' ({lost})' if lost else ''}"


def postgres_url(url: str) -> sa.URL:
    """Return a URL for psycopg; raises StoreError, which does not show it."""
    try:
        return sa.make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):  # without the cause, which shows the URL
        raise StoreError("LIGHTRAG_DATABASE is not a URL; write postgresql://user:password@host/database") from None


def _next_step(error: BaseException, *, broken: bool) -> str:
    if isinstance(error, sqlite3.Error | UnicodeDecodeError):
        # Extended result codes keep the primary one in the low byte; errors of the module itself have none.
        code = getattr(error, "sqlite_errorcode", 0)
        other = f"cannot be used: {error}; check the disk and the room on it, then run again"
        return _SQLITE_ERRORS.get(code) or _SQLITE_ERRORS.get(code & 0xFF, other)
    state = getattr(error, "sqlstate", None) or ""
    reason = one_line(Exception(error))[:_LONGEST_MESSAGE]
    if (broken and not state) or state.startswith(("08", "28", "3D", "57")):
        return f"cannot be reached: {reason}; check LIGHTRAG_DATABASE and the server, then run again"
    return _POSTGRES_ERRORS.get(state, f"cannot be used: {reason}")
