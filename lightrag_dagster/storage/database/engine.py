"""Databases: an SQLite file or a Postgres database, as one SQLAlchemy engine with the tables that a store needs.

SQLite files are in write-ahead mode with `synchronous = NORMAL`: a commit survives the death of the process, and a
power cut can at worst lose the last ones. They must lie on a local disk. Postgres decides about its own durability.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from lightrag_dagster.core.holding import Once
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.errors import BUSY_SECONDS, address_name, damaged, explained, postgres_url

CREATING = 0x11687
"""Advisory lock of Postgres that is held while tables are created."""

_CONNECT_ARGUMENTS: Mapping[str, object] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "prepare_threshold": None,
}
"""Options of psycopg. Seconds; statements are not prepared, since a pooler may give each to another session."""


class Database:
    """An SQLite file or Postgres database with some tables, closed at the end of a `with` block.

    It may be shared by threads. Every method and block raises StoreError when the database is damaged, locked,
    read-only, unreachable or full.
    """

    def __init__(
        self,
        address: Address,
        tables: Sequence[sa.Table],
        *,
        synchronous: str = "NORMAL",
        page_bytes: int | None = None,
        looking: bool = False,
        text_factory: Callable[[bytes], str] = str,
    ) -> None:
        """Open the database, creating a missing file and missing tables.

        Args:
            address: File of SQLite or URL of Postgres.
            tables: Tables that are needed.
            synchronous: With FULL, a commit in an SQLite file survives a power cut too.
            page_bytes: Length of the pages of a new SQLite file, if not SQLite's own.
            looking: A missing SQLite file counts as empty and is not created, which would hide that it was lost;
                columns of another layout stay.
            text_factory: Reads text of an SQLite file; if it is left out, text that is not UTF-8 is an error.
        """
        self.name = address_name(address)
        self._file = address if isinstance(address, Path) else None
        with explained(self.name):
            if isinstance(address, Path):
                url = sa.URL.create("sqlite")  # in memory
                if address.exists() or not looking:
                    _create_file(address, page_bytes)
                    url = _sqlite_url(address)
                self.engine = _sqlite_engine(url, synchronous, text_factory)
            else:
                self.engine = postgres_engine(address.get_secret_value())
            # One connection to an SQLite file serves all threads, one transaction after another.
            self._lock = threading.Lock() if self._file else nullcontext()
            self._connection = self.engine.connect() if self._file else None
            try:
                self._create(tables, drop=not looking)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Close an SQLite file. Connections to Postgres are kept for the next store of this process."""
        if self._connection is not None:
            with explained(self.name), self._lock:
                self._connection.close()
                self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """Give a connection in a transaction that is committed, and durable, when the block ends without an error."""
        with explained(self.name):
            if self._connection is None:
                with self.engine.begin() as connection:
                    yield connection
            else:
                with self._lock, self._connection.begin():
                    yield self._connection

    @property
    def on_postgres(self) -> bool:
        """True for Postgres, False for SQLite."""
        return self._file is None

    def tables(self) -> list[str]:
        """Return the names of the tables that there are."""
        with self.begin() as connection:
            return sa.inspect(connection).get_table_names()

    def insert(self, table: sa.Table) -> Any:
        """Return an INSERT of this database, which has `on_conflict_do_nothing` and `on_conflict_do_update`."""
        return import_module(f"sqlalchemy.dialects.{self.engine.dialect.name}").insert(table)

    def among(self, column: sa.Column[str]) -> sa.ColumnElement[bool]:
        """Return the condition that a column has one of any number of values, which `given` turns into parameters."""
        parameter = sa.bindparam("given", type_=sa.Text)
        if self.on_postgres:
            rows = sa.func.json_array_elements_text(sa.cast(parameter, sa.JSON)).table_valued("value")
        else:
            rows = sa.func.json_each(parameter).table_valued("value")
        return column.in_(sa.select(rows.c.value))

    def shrink(self) -> bool:
        """Give the space of removed rows in an SQLite file back to the disk; Postgres reuses it by itself.

        Return False if another process reads the file, so that its log still has what was removed.
        """
        if self._file is None:
            return True
        with explained(self.name), self._lock, self.engine.connect() as connection:
            connection.exec_driver_sql("VACUUM")
            return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one()

    def rewrite(self, table: sa.Table) -> None:
        """Rewrite a table, so that no row that was removed is left in a file of the database.

        In Postgres nothing else can read the table meanwhile. Its log, replicas and backups are not reached.
        """
        if not self.shrink():
            raise StoreError(
                f"{self.name} is read by another process, so that removed rows stay in its log; end it, and run again"
            )
        if self.on_postgres:
            with explained(self.name), self.engine.connect() as connection:
                alone = connection.execution_options(isolation_level="AUTOCOMMIT")
                # The planner keeps samples of values: analyzed again, it has those of rows that are left. The owner of
                # the database may remove the samples before, others get a warning.
                alone.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table.name}")
                alone.exec_driver_sql("VACUUM (FULL) pg_catalog.pg_statistic")

    def size(self, table: sa.Table) -> int:
        """Return the length of the SQLite file and its write-ahead log, or of the table in Postgres. Bytes."""
        if self._file:
            log = self._file.with_name(f"{self._file.name}-wal")
            return sum(path.stat().st_size for path in (self._file, log) if path.exists())
        with self.begin() as connection:
            return int(connection.execute(sa.select(sa.func.pg_total_relation_size(table.name))).scalar_one())

    def _create(self, tables: Sequence[sa.Table], *, drop: bool) -> None:
        with self.begin() as connection:
            # What is whole is not touched, so that no right to create anything is asked for.
            tables = [table for table in tables if _stored_columns(connection, table) != set(table.columns.keys())]
        if not tables:
            return
        with self.begin() as connection:
            if self.on_postgres:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATING)))
            else:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            for table in tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                _take_over(connection, table, drop=drop)
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))


def _stored_columns(connection: sa.Connection, table: sa.Table) -> set[str]:
    """Return the names of the columns that a table has in the database; none when it does not exist."""
    try:
        return {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
    except NoSuchTableError:
        return set()


def _take_over(connection: sa.Connection, table: sa.Table, *, drop: bool) -> None:
    """Give a table of another layout today's columns: new ones are null or have their default; `drop` the others."""
    stored = _stored_columns(connection, table)
    for column in table.columns:
        if column.name not in stored:
            description = CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {description}")
    for name in sorted(stored.difference(table.columns.keys()) if drop else ()):
        connection.exec_driver_sql(f'ALTER TABLE {table.name} DROP COLUMN "{name}"')


def given(values: Iterable[str]) -> dict[str, str]:
    """Return the parameters of a statement with `Database.among`."""
    return {"given": json.dumps(list(values))}


@Once  # of two threads that come first together, one would lose its engine with open connections
def postgres_engine(url: str) -> sa.Engine:
    """Return the engine of a Postgres database that the stores of this process share; raises StoreError."""
    return new_postgres_engine(url, "lightrag", pool_pre_ping=True)


def new_postgres_engine(url: str, application_name: str, **options: Any) -> sa.Engine:
    """Return an engine whose connections have a name, give up on a dead server, and work behind a pooler.

    Raises:
        StoreError: the extra `cloud` is not installed, or the URL cannot be read.
    """
    arguments = {**_CONNECT_ARGUMENTS, "application_name": application_name}
    try:
        return sa.create_engine(postgres_url(url), connect_args=arguments, hide_parameters=True, **options)
    except ImportError as error:
        raise StoreError(
            "LIGHTRAG_DATABASE needs psycopg; run `pip install 'lightrag-dagster[cloud]'`, then run again"
        ) from error


def _create_file(path: Path, page_bytes: int | None) -> None:
    """Create an SQLite file that is missing, with its header at once: one of no bytes has lost what was in it.

    Raises:
        StoreError: the file has no bytes.
    """
    if path.exists():
        if not path.stat().st_size:
            raise StoreError(damaged(path, "has no bytes"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent) as folder:
        new = Path(folder) / path.name
        with closing(sqlite3.connect(new)) as connection:
            if page_bytes:
                connection.execute(f"PRAGMA page_size = {page_bytes}")
            connection.execute("PRAGMA journal_mode = WAL")
        with suppress(OSError):  # another process was first, or the file system has no links; then SQLite creates it
            os.link(new, path)


def _sqlite_engine(url: sa.URL, synchronous: str, text_factory: Callable[[bytes], str]) -> sa.Engine:
    engine = sa.create_engine(
        url,
        poolclass=sa.StaticPool,
        hide_parameters=True,  # Answers and questions belong into no log.
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @sa.event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, record: object) -> None:
        # SQLite waits for no other process here, as when two of them make the file.
        _when_free(connection.execute, "PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.text_factory = text_factory

    return engine


def _sqlite_url(path: Path) -> sa.URL:
    """Return the URL of an SQLite file: one that may not be written is only read."""
    if not path.is_file() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return sa.URL.create("sqlite", database=str(path))
    log = path.with_name(f"{path.name}-wal")
    # SQLite makes files beside the database to read it, unless it is told that no other process writes it.
    how = {"mode": "ro"} if log.exists() and log.stat().st_size else {"immutable": "1"}
    return sa.URL.create("sqlite", database=path.absolute().as_uri(), query={"uri": "true"} | how)


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


_when_free = Retrying(
    retry=retry_if_exception(_is_busy), wait=wait_random(0, 0.05), stop=stop_after_delay(BUSY_SECONDS), reraise=True
)
