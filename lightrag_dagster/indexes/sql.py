"""Sandboxed DuckDB for user SQL over the tables of a home: it reaches no file and no network.

DuckDB gets the tables as Arrow datasets, not as paths. A path in `allowed_paths` could also be written
(`COPY … TO '…' (USE_TMP_FILE false)`), and a published file must never change; so no path is allowed at all.

Memory, temporary files and, optionally, time are bounded. Rows are not: they are read a batch at a time.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from tempfile import gettempdir
from threading import TIMEOUT_MAX, Event, Thread

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from lightrag_dagster.errors import QueryError, QueryTimeoutError, StoreError, one_line
from lightrag_dagster.fact_schemas import PASS_TABLES, of_pass
from lightrag_dagster.indexes.views import add_derived
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.storage.duckdb import bounded, quoted_name
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import TABLES, Generation
from lightrag_dagster.storage.tables.source_tables import SourceTables

TableFiles = Mapping[str, Sequence[Path]]

# DuckDB would take 80% of the memory and 90% of the free disk, which services, builders and further queries share. Data
# that does not fit in memory goes to the disk, so that more than the cap is seldom faster. Percent, bytes, share.
_MEMORY_PERCENT = 25
_MOST_MEMORY = 4_000_000_000
_DISK_SHARE = 0.5

PROCESS_LIMITS = 2
"""Memory that a process may take for a statement. Memory limits of the database.

DuckDB does not count single values, such as a list of a billion numbers, rows on their way out, and file readers.
"""

# A batch of long texts stays small; a table that is held whole has few chunks. Rows.
_BATCH = 2048
_CHUNK = 65_536

_FOR_READING = (
    "the SQL cannot be run: it may only read the tables of the home; `lightrag-dagster sql --allow-external` also lets "
    "it use files, the network, extensions and settings"
)
_TO_FILES = re.compile(rb"(?:attach|copy|export)\b", re.IGNORECASE)
"""Words of statements that the guard would let write into the folder of temporary files, above its bound."""

IN_WORDS = re.compile(r"\b(?:BIGNUM|BIT|BLOB|INTERVAL|TIME(?! ZONE)|TIME_NS|TIMESTAMP_NS|UHUGEINT)\b")
"""Types whose values Arrow or Python writes otherwise than DuckDB: 24:00:00 as midnight, or without its zone."""

NESTED_TOO = re.compile(rf"{IN_WORDS.pattern}|\]$|^(?:STRUCT|MAP|UNION)\(")
"""These, and lists and structures, whose text of Python has the names of its classes."""

_UNREADABLE = "reading the Arrow source failed: "
"""Words of DuckDB before the reason why a file of `open_tables` cannot be read; it reads others by itself."""

# An interruption that comes between two statements or batches is lost, so there are several. Seconds.
_INTERRUPTED_EVERY = 0.05

_GUARD = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET allow_persistent_secrets = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def published_tables(generation: Generation) -> TableFiles:
    """Return the Parquet files of every table of a snapshot; raises StoreError."""
    return {table: generation.table_files(table) for table in TABLES}


def unpublished_tables(home: Home) -> TableFiles:
    """Return the newest Parquet files of every source's tables, accepted or not; raises StoreError.

    Empty when nothing was ever read. The merged tables have no files.
    """
    tables = SourceTables(home)
    found: dict[str, list[Path]] = {}
    for table in (*SOURCE_TABLES, *PASS_TABLES):
        paths: list[Path] = []
        for folder in sorted(home.root.glob(f"tables/{of_pass(table, '*') if table in PASS_TABLES else table}/*")):
            source = home.source_of(folder)
            if version := tables.current(folder.parent.name, source):
                paths += tables.paths(version.table, source, version.version)
        if paths:
            found[table] = home.files.open(paths)
    return found


@contextmanager
def open_tables(
    files: TableFiles, *, more: Mapping[str, pa.Table] | None = None, allow_external: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB in memory with a view for each table of a home, and for `more` tables; times are UTC.

    It takes a quarter of the memory of the machine or container, up to 4 GB; the rest goes to a temporary folder of its
    own, up to half of the free disk. Statements may make tables and views in memory, also in place of those of the
    home. They read and write no file, reach no network, load no extension and change no setting, unless
    `allow_external`.

    Raises:
        StoreError: a file is missing or damaged.
    """
    with bounded(f"{_MEMORY_PERCENT}%") as connection:  # of the container's memory, if it has a limit
        connection.execute(f"SET memory_limit = '{min(memory_limit(connection), _MOST_MEMORY)}B'")
        disk = int(shutil.disk_usage(gettempdir()).free * _DISK_SHARE)
        connection.execute(f"SET max_temp_directory_size = '{disk}B'")
        for table, schema in TABLES.items():
            # A table that is registered would hide a view that a statement makes under its name.
            connection.from_arrow(_dataset([str(path) for path in files.get(table, ())], schema)).create_view(table)
        add_tables(connection, more or {})
        add_derived(connection)
        for setting in () if allow_external else _GUARD:
            connection.execute(setting)
        yield connection


def add_tables(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> None:
    """Add a view for each table."""
    for name, rows in tables.items():
        connection.from_arrow(rows).create_view(name)


def memory_limit(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the memory that a database may take. Bytes."""
    return int(connection.sql("SELECT parse_formatted_bytes(current_setting('memory_limit'))").fetchall()[0][0])


def results(
    connection: duckdb.DuckDBPyConnection,
    statements: str,
    *,
    timeout: float | None = None,
    batch: int = _BATCH,
    in_words: re.Pattern[str] | None = None,
) -> Iterator[pa.RecordBatchReader]:
    """Run statements one after the other and yield the rows of each that has some, to be read before the next runs.

    Args:
        connection: The tables.
        statements: SQL of DuckDB.
        timeout: Time that they may take, all together and with reading the rows; unlimited unless given. Seconds.
        batch: Number of rows that are read at a time.
        in_words: Types of columns that are given as the text that DuckDB writes: IN_WORDS or NESTED_TOO.

    Raises:
        QueryError: a statement is wrong, not allowed, fails, or needs too much memory or time, here or while its rows
            are read. One that fails before its first row yields nothing.
        StoreError: a file of a table is damaged.
    """
    with _run(connection, timeout) as run:
        with run.explained():
            parsed = connection.extract_statements(statements)
        if not parsed:
            raise QueryError("the SQL is empty")
        for statement in parsed:
            with run.explained():
                _refuse_files(connection, statement.query)
                relation = connection.sql(statement)
                if relation is None or not _has_rows(statement):
                    continue
                reader = (_in_words(relation, in_words) if in_words else relation).to_arrow_reader(batch)
            batches = run.batches(reader)
            yield pa.RecordBatchReader.from_batches(reader.schema, chain(list(islice(batches, 1)), batches))


def last_result(connection: duckdb.DuckDBPyConnection, statements: str, *, timeout: float | None = None) -> pa.Table:
    """Run statements and return the rows of the last one that has some.

    Raises:
        QueryError: as `results`; or its rows do not fit in the memory that the database may take, or none has any.
        StoreError: a file of a table is damaged.
    """
    found, most = None, memory_limit(connection)
    for rows in results(connection, statements, timeout=timeout, batch=_CHUNK):
        found = None  # earlier results need not be kept as well
        found = _whole(rows, most)
    if found is None:
        raise QueryError("the SQL returns no rows; end it with a query, such as SELECT or FROM")
    return found


def _refuse_files(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Raise QueryError for a statement that writes files and may not; DuckDB counts where its words begin in bytes."""
    encoded = query.encode("utf-8", "surrogatepass")
    found = next(filter(None, (_TO_FILES.match(encoded, start) for start, _ in duckdb.tokenize(query))), None)
    if found and not connection.sql("SELECT current_setting('enable_external_access')").fetchall()[0][0]:
        word = found[0].decode()
        raise QueryError(f'{_FOR_READING}: {word.upper()} writes files; as a name it is "{word}", in quotes')


def _in_words(relation: duckdb.DuckDBPyRelation, types: re.Pattern[str]) -> duckdb.DuckDBPyRelation:
    """Have DuckDB write columns with values of some types, also in lists; a statement may give two one name."""
    if not any(types.search(str(kind)) for kind in relation.types):
        return relation
    columns = []
    for number, (name, kind) in enumerate(zip(relation.columns, relation.types, strict=True), 1):
        value = f"CAST(#{number} AS VARCHAR)" if types.search(str(kind)) else f"#{number}"
        columns.append(f"{value} AS {quoted_name(name)}")
    return relation.project(", ".join(columns))


class _Statements:
    """Running statements: their timeout, and the meaning of their errors."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, timeout: float | None) -> None:
        self._connection = connection
        self._timeout = timeout
        self._over = Event()
        self.ended = Event()

    def watch(self) -> None:
        """Wait until the time is over, and interrupt statements from then until the run has ended."""
        if not self.ended.wait(self._timeout):
            self._over.set()
            while not self.ended.wait(_INTERRUPTED_EVERY):
                self._connection.interrupt()

    def batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a result; raises as `explained`."""
        while True:
            with self.explained():
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise an error of DuckDB in the block as a QueryError, and one when the time is over.

        A table of the home that cannot be read is a StoreError.
        """
        self._require_time(None)
        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # the last place where rows are read
            self._require_time(error)
            _, of_table, reason = one_line(error).partition(_UNREADABLE)
            if of_table and not _lacks_memory(error):
                raise StoreError(
                    f"a table cannot be read: {reason}; run `lightrag-dagster run --verify`, which builds it again"
                ) from error
            raise QueryError(_problem(error)) from error

    def _require_time(self, error: Exception | None) -> None:
        if self._over.is_set():
            raise QueryTimeoutError(
                f"the SQL took longer than {self._timeout:g} s; narrow it, or give it more time"
            ) from error


@contextmanager
def _run(connection: duckdb.DuckDBPyConnection, timeout: float | None) -> Iterator[_Statements]:
    if timeout is not None and not 0 < timeout <= TIMEOUT_MAX:
        raise QueryError(f"timeout is {timeout:g} s; it must be more than 0 s")
    run = _Statements(connection, timeout)
    watch = Thread(target=run.watch, name="lightrag-sql-timeout", daemon=True)
    watch.start()
    try:
        yield run
    finally:
        run.ended.set()
        watch.join()


def _whole(rows: pa.RecordBatchReader, most: int) -> pa.Table:
    batches, size = [], 0
    for batch in rows:
        batches.append(batch)
        size += batch.nbytes
        if size > most:
            raise QueryError(
                f"the result takes more than {most / 1e9:.1f} GB of memory; select fewer rows or columns, or let "
                "`lightrag-dagster sql … --format csv` write it to a file, which holds a few rows at a time"
            )
    return pa.Table.from_batches(batches, rows.schema)


def _has_rows(statement: duckdb.Statement) -> bool:
    """Return True if a statement yields rows of its own; PIVOT has several parts, some of which yield none."""
    silent = duckdb.ExpectedResultType.NOTHING in statement.expected_result_type
    return not silent or statement.type == duckdb.StatementType.MULTI


def _dataset(paths: list[str], schema: pa.Schema) -> object:
    if not paths:
        return schema.empty_table()
    try:
        return ds.dataset(paths, schema=schema, format="parquet")
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"a table cannot be read: {one_line(error)}; run `lightrag-dagster run`") from error


def _lacks_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()  # in the words of DuckDB or of Arrow


def _problem(error: Exception) -> str:
    """Return one line about an error of DuckDB; name the next step if a bound or the guard is the reason."""
    problem = one_line(error)
    if _lacks_memory(error):
        said = problem.partition(" Possible solutions")[0]
        return f"the SQL needs more memory or temporary files than it may take: {said}; select fewer rows or columns"
    if any(
        words in problem for words in ("disabled by configuration", "disabled through configuration", "been locked")
    ):
        return f"{_FOR_READING}: {problem}"
    return f"the SQL cannot be run: {problem}"
