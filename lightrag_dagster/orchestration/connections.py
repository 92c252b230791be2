"""Connections to the SQLite files of a Dagster instance that stay open between uses, and what was compiled for them.

For each event Dagster makes several engines, and each opens a connection, commits and closes it. Every commit, and
every close of a file's last connection, waits for the disk; every new connection reads the schema again, and every new
engine compiles its statements again.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect, Engine

_MOST_FREE = 16
"""A home has four files, and one more for each run. An open one takes three of the process's file descriptors."""


@contextmanager
def kept_open(folder: Path) -> Iterator[None]:
    """Keep SQLAlchemy's connections to the SQLite files below a folder open for the block.

    Commits go to the write-ahead log without waiting for the disk. A crash of the machine may cost the last events,
    which are for people, but damages no file.
    """
    connections = _Connections(folder)
    listeners = ("do_connect", connections.connect), ("engine_connect", connections.share_compiled)
    for name, listener in listeners:
        sa.event.listen(Engine, name, listener)
    try:
        yield
    finally:
        for name, listener in listeners:
            sa.event.remove(Engine, name, listener)
        connections.end()


class _Compiled(dict[tuple[Any, ...], Any]):
    """Statements that any engine of a kind compiled: a dialect counts by its class, which SQLAlchemy tells apart."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get(self._of_kind(key), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        super().__setitem__(self._of_kind(key), compiled)

    @staticmethod
    def _of_kind(key: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(type(part) if isinstance(part, Dialect) else part for part in key)


class _Connections:
    """The idle connections, the one used last at the end."""

    def __init__(self, folder: Path) -> None:
        root = folder.resolve()
        self._is_below = cache(lambda file: file != ":memory:" and Path(file).resolve().is_relative_to(root))
        self._free = deque[_Connection]()
        self._compiled = _Compiled()
        self._lock = threading.Lock()
        self._ended = False

    def connect(self, dialect: Dialect, _: object, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Return a connection to a file, or None if SQLAlchemy is to open its own."""
        if dialect.name != "sqlite" or not self._is_below(arguments[0]):
            return None
        with self._lock:
            found = next((one for one in self._free if one.file == arguments[0]), None)
            if found is not None:
                self._free.remove(found)
                return found
        made = _Connection(self, *arguments, **options | {"check_same_thread": False})
        try:
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error:
            made.really_close()
            raise
        return made

    def share_compiled(self, connection: sa.Connection) -> None:
        """Have a connection to a file use what was compiled for any of them."""
        if connection.dialect.name == "sqlite" and self._is_below(connection.engine.url.database or ":memory:"):
            connection.execution_options(compiled_cache=self._compiled)

    def take_back(self, connection: "_Connection") -> None:
        """Keep a connection for its next use; if there are too many, close the one that is idle for longest."""
        with self._lock:
            self._free.append(connection)
            closing = [self._free.popleft()] if self._ended or len(self._free) > _MOST_FREE else []
        for one in closing:
            one.really_close()

    def end(self) -> None:
        """Close all connections; one in use is closed when it is given back."""
        with self._lock:
            self._ended = True
            free = list(self._free)
            self._free.clear()
        for one in free:
            one.really_close()


class _Connection(sqlite3.Connection):
    """A connection that is kept for its next use when it is closed."""

    def __init__(self, connections: _Connections, file: str, *arguments: Any, **options: Any) -> None:
        super().__init__(file, *arguments, **options)
        self.file, self._connections = file, connections

    def close(self) -> None:
        """Give the connection back, after a rollback."""
        if self.in_transaction:
            self.rollback()
        self._connections.take_back(self)

    def really_close(self) -> None:
        """Close the connection."""
        super().close()
