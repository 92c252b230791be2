"""Tables of what was paid for: one SQLite file each, safe from several threads and processes.

Write-ahead log, `synchronous = NORMAL`: a commit survives the death of the process, and a power cut can at worst lose
the last ones, which costs their price again. The file must lie on a local disk.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lightrag_dagster.errors import StoreError

BUSY_SECONDS = 60
"""How long one process waits for another's lock on a file."""

_DAMAGED = "is damaged; restore it from a backup, or move it away to start anew (answers in it are then paid for again)"
_UNWRITABLE = "cannot be written; check the permissions of the file and its folder, then run again"
_NEXT_STEPS = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: "does not fit on the disk; free some space and run again, nothing stored was lost",
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: _UNWRITABLE,
    sqlite3.SQLITE_PERM: _UNWRITABLE,
    sqlite3.SQLITE_BUSY: f"was locked by another process for {BUSY_SECONDS} s; end that one, then run again",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite or the file system raises inside the block into a StoreError with the next step."""
    try:
        yield
    except sqlite3.Error as error:
        # Extended result codes keep the primary one in the low byte; errors of the module itself have none.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        next_step = _NEXT_STEPS.get(code, f"cannot be used: {error}; move it away and run again")
        raise StoreError(f"{path} {next_step}") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be created: {error.strerror or error}") from error


def open_database(path: Path, schema: str, *, synchronous: str = "NORMAL") -> sqlite3.Connection:
    """Open a file in write-ahead mode, creating it and what `schema` says where needed; raises StoreError.

    With `synchronous` FULL a commit survives a power cut too.
    """
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.executescript(schema)
        except BaseException:
            connection.close()
            raise
        return connection


class Database:
    """An open file, closed at the end of a `with` block.

    Every method raises StoreError when the file is damaged, locked, read-only or the disk is full.
    """

    def __init__(self, path: Path, schema: str, *, synchronous: str = "NORMAL") -> None:
        """Open the file; see `open_database`."""
        self._path = path
        self._lock = threading.Lock()
        self._connection = open_database(path, schema, synchronous=synchronous)

    def close(self) -> None:
        """Close the file."""
        with explained(self._path), self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class KeyedTable(Database):
    """Base of the stores: rows by key. A row that is there is never changed: the first to be put stays."""

    def __init__(self, path: Path, table: str, columns: Sequence[str]) -> None:
        """Open the file, creating it where needed; `columns` are SQL column definitions after the key."""
        self._keys = f"SELECT key FROM {table}"
        self._delete = f"DELETE FROM {table} WHERE key IN (SELECT value FROM json_each(?))"
        self._select = f"SELECT * FROM {table} WHERE key IN (SELECT value FROM json_each(?))"
        self._insert = f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * (len(columns) + 1))})"
        definitions = ", ".join(("key TEXT PRIMARY KEY", *columns))
        schema = f"CREATE TABLE IF NOT EXISTS {table} ({definitions}) WITHOUT ROWID"
        super().__init__(path, schema)

    def _read(self, keys: Iterable[str]) -> dict[str, tuple[Any, ...]]:
        """Return the rows that are there, without their keys."""
        with explained(self._path), self._lock:
            rows = self._connection.execute(self._select, (json.dumps(list(keys)),)).fetchall()
        return {row[0]: row[1:] for row in rows}

    def _write(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Store rows, key first, in one transaction; they are durable when this returns."""
        with explained(self._path), self._lock, self._connection:
            self._connection.executemany(self._insert, rows)

    @property
    def size(self) -> int:
        """Length of the file and of its write-ahead log. Bytes."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return sum(path.stat().st_size for path in (self._path, log) if path.exists())

    def keys(self) -> set[str]:
        """Return the keys of all rows."""
        with explained(self._path), self._lock:
            return {key for (key,) in self._connection.execute(self._keys)}

    def remove(self, keys: Iterable[str]) -> None:
        """Remove rows and give their room back, for which the disk must hold what is left once more."""
        if not (unwanted := sorted(keys)):
            return
        with explained(self._path), self._lock:
            with self._connection:
                self._connection.execute(self._delete, (json.dumps(unwanted),))
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
