"""DuckDB views over the Parquet files of a generation, one a table, named as the table."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from lightrag_dagster.errors import QueryError, StoreError, one_line
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage import files
from lightrag_dagster.storage.generations import VIEWS, Generation

_TABLES = SOURCE_TABLES | MERGED_TABLES


def create_views(
    connection: duckdb.DuckDBPyConnection,
    generation: Generation,
    tables: Iterable[str] = _TABLES,
    *,
    temporary: bool = True,
) -> None:
    """Create views of some tables of a generation, seen by this connection alone if `temporary`; paths are absolute.

    Raises:
        StoreError: a file is missing or damaged.
    """
    kind = "TEMP VIEW" if temporary else "VIEW"
    try:
        for table in tables:
            paths = [str(path) for path in generation.table_files(table)]
            if paths:
                rows = f"FROM read_parquet({_literal(paths)}, hive_partitioning = false)"
            else:
                rows = _no_rows(connection, _TABLES[table])
            connection.execute(f'CREATE {kind} "{table}" AS {rows}')
    except duckdb.Error as error:
        raise StoreError(f"the tables of {generation.id} cannot be read: {one_line(error)}; run again") from error


def build_views(generation: Generation) -> None:
    """Write `views.duckdb` unless the generation has it; raises StoreError."""
    if generation.has(VIEWS):
        return
    with files.replacing(generation.path(VIEWS)) as temporary:
        temporary.unlink()  # DuckDB refuses a file that is there and empty
        with duckdb.connect(str(temporary)) as connection:
            create_views(connection, generation, temporary=False)


@contextmanager
def open_views(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file of views read-only; errors of the SQL inside the block become a QueryError.

    Raises:
        StoreError: the file is missing or damaged.
        QueryError: the SQL is wrong, or fails.
    """
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise StoreError(f"{path} cannot be opened: {one_line(error)}; run `lightrag-dagster run`") from error
    with connection:
        try:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
        except duckdb.Error as error:
            raise QueryError(f"the SQL cannot be run: {one_line(error)}") from error


def _no_rows(connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> str:
    """Return a query without rows: a table of no source has no file from which its columns could be read."""
    empty = connection.from_arrow(schema.empty_table())
    columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in zip(empty.columns, empty.types, strict=True))
    return f"SELECT {columns} LIMIT 0"


def _literal(paths: list[str]) -> str:
    return "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in paths) + "]"
