"""DuckDB views over the Parquet files of a generation, one for each table, named as the table."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

import duckdb

from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.indexes import views_file
from lightrag_dagster.storage.duckdb import in_memory, open_duckdb, quoted, rows_of, spilling, unreadable
from lightrag_dagster.storage.snapshots.generations import TABLES, VIEWS, Generation
from lightrag_dagster.view_schemas import DERIVED_VIEWS, MACROS

# A database of larger tables spills. Small ones are read once: each query of a view would open its files again.
_ROWS_IN_MEMORY = 200_000
SMALL_ROWS = 5_000
_ALL = (*DERIVED_VIEWS, *MACROS)


def create_views(
    connection: duckdb.DuckDBPyConnection,
    generation: Generation,
    tables: Iterable[str] = TABLES,
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
            rows = rows_of(connection, generation.table_files(table), TABLES[table])
            connection.execute(f'CREATE {kind} "{table}" AS {rows}')
    except duckdb.Error as error:
        raise StoreError(f"the tables of {generation.id} cannot be read: {unreadable(error)}") from error


@contextmanager
def open_tables(
    generation: Generation, tables: Iterable[str] = TABLES, columns: Mapping[str, list[str]] = MappingProxyType({})
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with some tables, seen by this connection alone; `columns` are all that is read of a table.

    That of large tables spills into the system's temporary folder: a check reads without the builder's lock, and a
    builder removes other files next to the generations.

    Raises:
        StoreError: a file is missing or damaged, in the block as well, or the disk is full.
    """
    tables = list(tables)
    rows = {table: generation.home.files.count_rows(generation.table_files(table)) for table in tables}
    with ExitStack() as opened:
        try:
            connection = opened.enter_context(in_memory() if max(rows.values()) <= _ROWS_IN_MEMORY else spilling())
            for table in tables:
                if rows[table] <= SMALL_ROWS:
                    connection.register(table, generation.read_table(table, columns.get(table)))
                else:
                    create_views(connection, generation, [table])
            yield connection
        except duckdb.Error as error:
            raise StoreError(f"{generation.id} cannot be read: {unreadable(error)}") from error


def add_derived(connection: duckdb.DuckDBPyConnection, names: Iterable[str] = _ALL, *, temporary: bool = False) -> None:
    """Add views over other tables to a database that has these; if `temporary`, for this connection alone."""
    statements = views_file.derived_sql()
    kind = "CREATE TEMP VIEW" if temporary else "CREATE VIEW"
    for name in names:
        connection.execute(statements[name].replace("CREATE VIEW", kind))


def build_views(generation: Generation, *, verify: bool = False) -> None:
    """Write `views.duckdb` and its record, unless the generation has them already; raises StoreError.

    DuckDB 1.1 and later can read it. With `verify`, an existing file is read whole.
    """
    if views_file.is_current(generation, verify=verify):
        return
    with generation.home.files.writing(generation.path(VIEWS)) as temporary:
        temporary.unlink()  # DuckDB refuses a file that is there and empty
        try:
            with open_duckdb() as connection:
                connection.execute("PRAGMA disable_optimizer")  # four hundred statements have nothing to optimise
                connection.execute(f"ATTACH {quoted(temporary)} AS views (STORAGE_VERSION 'v1.0.0')")
                connection.execute("USE views; BEGIN")
                create_views(connection, generation, temporary=False)
                add_derived(connection)
                for comment in views_file.comments():
                    connection.execute(comment)
                connection.execute("COMMIT; CHECKPOINT views")  # closing it does that too, without its errors
        except duckdb.Error as error:  # of a full disk
            temporary.with_suffix(".tmp.wal").unlink(missing_ok=True)
            raise OSError(one_line(error)) from error
    views_file.record(generation)
