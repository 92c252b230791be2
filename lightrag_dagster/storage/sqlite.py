"""Tables of paid responses and vectors: one SQLite file each, safe from several threads and processes.

Write-ahead log, `synchronous = NORMAL`: a commit survives the death of the process, and a power cut can at worst lose
the last ones, which costs their price again. The file must lie on a local disk.
"""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lightrag_dagster.errors import StoreError

BUSY_SECONDS = 60
"""How long one process waits for another's lock on a file."""

_DAMAGED = "is damaged; restore it from a backup, or move it away (its answers are then paid for again)"
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
    """Turn errors of SQLite or the file system inside the block into a StoreError with the next step."""
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
    """Open a file in write-ahead mode, creating it and the tables of `schema` where needed; raises StoreError.

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
    """Base of the stores: rows by key. A row never changes: the first to be put stays.

    `last_used` is the day on which a row was last put or read, so that rows without use can be removed; it is written
    at most once a day for each row.
    """

    def __init__(self, path: Path, table: str, columns: Sequence[str]) -> None:
        """Open the file, creating it where needed; `columns` are SQL column definitions after the key."""
        self._table = table
        definitions = ", ".join(("key TEXT PRIMARY KEY", *columns, _LAST_USED))
        super().__init__(path, f"CREATE TABLE IF NOT EXISTS {table} ({definitions}) WITHOUT ROWID")
        self._insert = f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * (len(columns) + 2))})"
        with explained(path), self._lock:
            self._add_last_used()

    def _add_last_used(self) -> None:
        """Add the column to a table that an older version of this package made; its rows count as used today."""
        names = f"SELECT count(*) FROM pragma_table_info('{self._table}') WHERE name = 'last_used'"
        if self._connection.execute(names).fetchone()[0]:
            return
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            if not self._connection.execute(names).fetchone()[0]:
                self._connection.execute(f"ALTER TABLE {self._table} ADD COLUMN {_LAST_USED} DEFAULT {_today()}")

    def _read(self, keys: Iterable[str]) -> dict[str, tuple[Any, ...]]:
        """Return the rows that exist, without their keys, and note that they were used."""
        select = f"SELECT * FROM {self._table} WHERE key IN (SELECT value FROM json_each(?))"
        with explained(self._path), self._lock:
            rows = self._connection.execute(select, (json.dumps(list(keys)),)).fetchall()
            self._note_use([row[0] for row in rows if row[-1] < _today()])
        return {row[0]: row[1:-1] for row in rows}

    def _note_use(self, keys: list[str]) -> None:
        if not keys:
            return
        update = f"UPDATE {self._table} SET last_used = ? WHERE key IN (SELECT value FROM json_each(?))"
        # A full disk, a read-only file or a long write of another process must not keep anything from being read.
        with contextlib.suppress(sqlite3.OperationalError), self._connection:
            self._connection.execute(update, (_today(), json.dumps(keys)))

    def _write(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Store rows, key first, in one transaction; they are durable when this returns."""
        today = _today()
        with explained(self._path), self._lock, self._connection:
            self._connection.executemany(self._insert, ((*row, today) for row in rows))

    def known(self, keys: Iterable[str]) -> set[str]:
        """Return the keys that have a row, without using them."""
        select = f"SELECT key FROM {self._table} WHERE key IN (SELECT value FROM json_each(?))"
        with explained(self._path), self._lock:
            return {key for (key,) in self._connection.execute(select, (json.dumps(list(keys)),))}

    @property
    def size(self) -> int:
        """Length of the file and of its write-ahead log. Bytes."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return sum(path.stat().st_size for path in (self._path, log) if path.exists())

    def count(self, *, unused_for: int = 0) -> int:
        """Return the number of rows that were not used for so many days; of all rows by default."""
        statement = f"SELECT count(*) FROM {self._table} WHERE last_used <= ?"
        with explained(self._path), self._lock:
            return int(self._connection.execute(statement, (_today() - unused_for,)).fetchone()[0])

    def prune(self, unused_for: int) -> int:
        """Remove the rows that were not used for so many days and return how many.

        The file shrinks, for which the disk must have room for a copy of the rows that stay.
        """
        delete = f"DELETE FROM {self._table} WHERE last_used <= ?"
        with explained(self._path), self._lock:
            with self._connection:
                removed = self._connection.execute(delete, (_today() - unused_for,)).rowcount
            if removed:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed


_LAST_USED = "last_used INTEGER NOT NULL"


def _today() -> int:
    """Return the day, UTC. Days since 1970."""
    return int(time.time() // 86_400)
