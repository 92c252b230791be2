"""DuckDB in memory: connections to one database of the process, since opening another takes 25 milliseconds of CPU."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb

_opening = threading.Lock()


@contextmanager
def in_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection of its own, closed with the block.

    What it registers, its variables, and views, tables and macros that it creates as TEMP are seen by no other one;
    create nothing else.
    """
    with _opening:
        database = _database()
    try:
        with database.cursor() as connection:
            yield connection
    except duckdb.FatalException:
        _database.cache_clear()  # it refuses everything from now on
        raise


@cache
def _database() -> duckdb.DuckDBPyConnection:
    # Files change under their names in tests and repairs, and a process that goes on should not keep them in memory.
    return duckdb.connect(config={"enable_external_file_cache": False})
