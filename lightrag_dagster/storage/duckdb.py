"""DuckDB in memory: one database of the process for small work, and one of its own, which spills, for large work.

It is imported when a database is opened, so that what may need none can import this.
"""

import atexit
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import one_line

if TYPE_CHECKING:
    import duckdb

SPILLING_GIGABYTES = 1.0

# Each thread holds a block for each file that it writes, 256 KB a column, so that 256 files just fit.
_THREADS = 2

OF_QUESTIONS = "512MB"

_opening = threading.Lock()
_databases: "dict[Callable[[], duckdb.DuckDBPyConnection], duckdb.DuckDBPyConnection]" = {}
atexit.register(_databases.clear)  # what is left when Python ends, DuckDB lists on standard error


def open_duckdb(file: Path | None = None, **config: bool | float | str) -> "duckdb.DuckDBPyConnection":
    """Open a database of its own: in memory, or of a file, which is only read; `config` has DuckDB's options.

    Its times are in UTC on machines of every zone.
    """
    import duckdb

    options: dict[str, bool | float | int | str | list[str]] = {**config}
    connection = duckdb.connect(str(file or ":memory:"), read_only=file is not None, config=options)
    connection.execute("SET enable_progress_bar = false")  # on by default where Python is interactive
    connection.execute(f"SET {'' if file else 'GLOBAL'} TimeZone = 'UTC'")  # of all cursors of what is ours alone
    return connection


@contextmanager
def in_memory() -> Iterator["duckdb.DuckDBPyConnection"]:
    """Give a connection of its own to the one database of the process, since opening another takes 25 milliseconds.

    No other connection sees the tables it registers, its variables, and the views, tables and macros it creates as
    TEMP; create nothing else. It is closed with the block.
    """
    with connect(_database) as connection:
        yield connection


def connect(database: "Callable[[], duckdb.DuckDBPyConnection]") -> "duckdb.DuckDBPyConnection":
    """Return a connection to the one database that a function opens; again, after a fatal error has ended it."""
    import duckdb

    with _opening:
        try:
            connection = _databases[database].cursor()
            connection.execute("SELECT 1").fetchall()
        except (KeyError, duckdb.FatalException):
            _databases[database] = database()
            connection = _databases[database].cursor()
        return connection


@contextmanager
def bounded(
    memory: str, folder: Path | None = None, **config: bool | float | str
) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a database with a bound of memory, that keeps the rest in a folder of its own, else in a temporary one.

    `config` has further options of DuckDB, such as `threads`.
    """
    with temporary_folder("lightrag-spill-") if folder is None else nullcontext(folder) as place:
        config |= {"memory_limit": memory, "temp_directory": str(folder or f"{place}/spill")}
        with open_duckdb(None, **config) as connection:
            yield connection


@contextmanager
def spilling(folder: Path | None = None) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a database for large work, with the macros, that keeps in a folder what exceeds SPILLING_GIGABYTES."""
    # In order of insertion, whole results would be held back.
    memory, place = f"{SPILLING_GIGABYTES}GB", folder and folder / "spill"
    with bounded(memory, place, threads=_THREADS, preserve_insertion_order=False) as connection:
        define_macros(connection)
        yield connection


def unreadable(error: Exception) -> str:
    """Return what DuckDB says of a table that cannot be read, without the statement, and the next step."""
    return f"{one_line(error).partition(' LINE 1: ')[0]}; run `lightrag-dagster run`"


def define_macros(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create the macros of `macros.sql` in a database, for all connections to it."""
    connection.execute(read_sql(__package__, "macros"))


def view_files(
    connection: "duckdb.DuckDBPyConnection", view: str, paths: Iterable[Path], schema: pa.Schema | None = None
) -> None:
    """Make a view over Parquet files, which this connection alone sees; over none, it is empty and has the schema."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {rows_of(connection, sorted(paths), schema)}")


def rows_of(connection: "duckdb.DuckDBPyConnection", paths: Sequence[Path], schema: pa.Schema | None) -> str:
    """Return a query of the rows of Parquet files, in order of the files; of none, of no rows with the schema."""
    if paths or schema is None:
        return f"FROM read_parquet([{', '.join(quoted(plain_path(one)) for one in paths)}], hive_partitioning = false)"
    empty = connection.from_arrow(schema.empty_table())
    columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in zip(empty.columns, empty.types, strict=True))
    return f"SELECT {columns} WHERE false"


def plain_path(path: Path) -> str:
    """Return a path as DuckDB reads it, which else takes kb[1] for a pattern and finds kb1."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def quoted(text: object) -> str:
    """Return a text or path as a string of SQL, in its quotes."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return the name of a column or table in SQL, in its quotes."""
    return '"' + name.replace('"', '""') + '"'


def _database() -> "duckdb.DuckDBPyConnection":
    # Files change under their names in tests and repairs, and a long process should not keep them in memory.
    connection = open_duckdb(enable_external_file_cache=False)
    define_macros(connection)
    return connection
