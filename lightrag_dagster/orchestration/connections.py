"""Connections to the SQLite files of a Dagster instance that stay open between uses, and the engines that make them.

For each event Dagster opens a connection, commits and closes it. Every commit, and every close of a file's last
connection, waits for the disk; and every new connection reads the schema again. Each is made by an engine of its own,
which compiles every statement again.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import RLock, get_ident
from typing import Any
from weakref import WeakKeyDictionary

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster import DagsterInstance
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from sqlalchemy import Connection, create_engine, event
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
    event.listen(Engine, "do_connect", connections.connect)
    try:
        with _kept_engines(), _kept_revisions(), _kept_schema():
            yield
    finally:
        event.remove(Engine, "do_connect", connections.connect)
        connections.end()


@contextmanager
def _kept_engines() -> Iterator[None]:
    """Give Dagster the same engine each time that it makes one of a file, for the block.

    All of them share what they compiled, and none has anything to dispose of, since it keeps no connection.
    """
    made, compiled = dict[str, Engine](), dict[Any, Any]()

    def kept(address: str, **options: Any) -> Engine:
        if address not in made:
            engine = create_engine(address, **options, execution_options={"compiled_cache": compiled})
            engine.dialect = next(iter(made.values()), engine).dialect  # a part of the keys of what is compiled
            engine.dispose = lambda *_, **__: None  # type: ignore[method-assign]
            if len(made) == _MOST_FREE:
                made.pop(next(iter(made)))
            made[address] = engine
        return made[address]

    with _replaced(sqlite_event_log, "create_engine", kept), _replaced(sqlite_run_storage, "create_engine", kept):
        yield


@contextmanager
def _kept_revisions() -> Iterator[None]:
    """Read Alembic's revisions, by which Dagster marks the file of each run, once in the block."""
    read, found = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

    def kept(config: Config) -> ScriptDirectory:
        return found.get(config.config_file_name) or found.setdefault(config.config_file_name, read(config))

    with _replaced(ScriptDirectory, "from_config", kept):
        yield


@contextmanager
def _kept_schema() -> Iterator[None]:
    """Ask once in the block whether a storage has a table or a column, where it has; Dagster does for each event."""
    has_table, has_column = SqliteEventLogStorage.has_table, SqlEventLogStorage._has_asset_key_col_on_connection
    found = WeakKeyDictionary[SqlEventLogStorage, set[str]]()

    def kept(storage: SqlEventLogStorage, name: str, has: Callable[[], bool]) -> bool:
        known = found.setdefault(storage, set())
        if name not in known and has():
            known.add(name)
        return name in known

    def table(storage: SqliteEventLogStorage, name: str) -> bool:
        return kept(storage, name, lambda: has_table(storage, name))

    def column(storage: SqlEventLogStorage, connection: Connection, name: str) -> bool:
        return kept(storage, f"asset key: {name}", lambda: has_column(storage, connection, name))

    with (
        _replaced(SqliteEventLogStorage, "has_table", table),
        _replaced(SqlEventLogStorage, "_has_asset_key_col_on_connection", column),
    ):
        yield


@contextmanager
def in_one_transaction(instance: DagsterInstance) -> Iterator[None]:
    """Store the events that this thread reports in the block in one transaction for each SQLite file, if it has such.

    Other writers wait for it meanwhile. After an error in the block, those before it are there.
    """
    storage, thread, held = instance.event_log_storage, get_ident(), dict[str, Connection]()
    if not isinstance(storage, SqliteEventLogStorage):
        yield
        return
    if not isinstance(storage._db_lock, type(RLock())):
        storage._db_lock = RLock()  # type: ignore[assignment]  # the files of the run and of all runs are open at once
    connect = storage._connect
    with ExitStack() as opened:

        @contextmanager
        def kept(shard: str) -> Iterator[Connection]:
            if get_ident() != thread:
                with connect(shard) as connection:
                    yield connection
                return
            if shard not in held:
                held[shard] = opened.enter_context(connect(shard))
            yield held[shard]

        opened.callback(vars(storage).pop, "_connect")
        vars(storage)["_connect"] = kept
        try:
            yield
        finally:
            opened.close()


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class _Connections:
    """The idle connections, the one used last at the end."""

    def __init__(self, folder: Path) -> None:
        root = folder.resolve()
        self._is_below = cache(lambda file: file != ":memory:" and Path(file).resolve().is_relative_to(root))
        self._free = deque[_Connection]()
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
