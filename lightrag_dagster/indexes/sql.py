"""SQL of a person over the tables of a home, in a DuckDB that reaches no file and no network.

DuckDB gets the tables as Arrow datasets, not as paths. A path in `allowed_paths` could also be written
(`COPY … TO '…' (USE_TMP_FILE false)`), and a published file must never change; so no path is allowed at all.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from lightrag_dagster.errors import QueryError, StoreError, one_line
from lightrag_dagster.indexes.views import add_elements
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage import bucket
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables

TableFiles = Mapping[str, Sequence[Path]]

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
    return {table: generation.table_files(table) for table in SOURCE_TABLES | MERGED_TABLES}


def unpublished_tables(home: Home) -> TableFiles:
    """Return the newest Parquet files of every source's tables, accepted or not; raises StoreError.

    Empty when nothing was ever read. The merged tables have no files.
    """
    tables = SourceTables(home)
    found: dict[str, list[Path]] = {}
    for table in SOURCE_TABLES:
        for folder in sorted(home.source_table(table, "any").parent.glob("*")):
            source = home.source_of(folder)
            if version := tables.current(table, source):
                found.setdefault(table, []).extend(tables.paths(table, source, version.version))
        bucket.fetch(home, found.get(table, []))
    return found


@contextmanager
def open_tables(files: TableFiles, *, allow_external: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB in memory with a view for each table of a home; times are UTC.

    Statements may make tables of their own in memory. They read and write no file, reach no network, load no extension
    and change no setting, unless `allow_external`.

    Raises:
        StoreError: a file is missing or damaged.
        QueryError: SQL inside the block is wrong, not allowed, or fails.
    """
    with TemporaryDirectory(prefix="lightrag-sql-") as spilled, duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        # DuckDB may always write its temporary directory, which by default is in the working folder.
        connection.execute(f"SET temp_directory = '{Path(spilled) / 'spill'}'")
        for table, schema in (SOURCE_TABLES | MERGED_TABLES).items():
            connection.register(table, _dataset([str(path) for path in files.get(table, ())], schema))
        add_elements(connection)
        for setting in () if allow_external else _GUARD:
            connection.execute(setting)
        try:
            yield connection
        except (duckdb.Error, pa.ArrowException) as error:
            raise QueryError(_explained(one_line(error))) from error


def results(connection: duckdb.DuckDBPyConnection, statements: str) -> Iterator[pa.Table]:
    """Run statements one after the other and yield the rows of each that has some; raises `duckdb.Error`."""
    for statement in connection.extract_statements(statements):
        relation = connection.sql(statement)
        rows = None if relation is None else relation.to_arrow_table()
        if rows is not None and duckdb.ExpectedResultType.NOTHING not in statement.expected_result_type:
            yield rows


def _dataset(paths: list[str], schema: pa.Schema) -> object:
    if not paths:
        return schema.empty_table()
    try:
        return ds.dataset(paths, schema=schema, format="parquet")
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"a table cannot be read: {one_line(error)}; run `lightrag-dagster run`") from error


def _explained(problem: str) -> str:
    """Return one line about what DuckDB refused; name the option where the guard is the reason."""
    guarded = any(
        words in problem for words in ("disabled by configuration", "disabled through configuration", "been locked")
    )
    reason = "; `sql` reads the tables of the home alone, unless --allow-external is given" if guarded else ""
    return f"the SQL cannot be run: {problem}{reason}"
