"""The in-memory database in which a merge runs, and its statements."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.storage.duckdb import bounded, connect, define_macros, open_duckdb
from lightrag_dagster.storage.files import atomic

MEMORY_GIGABYTES = 2.0
"""DuckDB spills to disk above this, in all workers together."""

WORKER_GIGABYTES = 0.5
"""Least memory of each worker: a part cannot be grouped in an eighth of a gigabyte."""

WHITESPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""All characters that Python strips; to search Unicode for them takes a tenth of a second."""

Variables = dict[str, str | int | bool | list[str]]


def rule_variables(settings: MergingSettings, embedder_identity: str) -> Variables:
    """Return the variables of the rules in `macros.sql`."""
    types = settings.types
    return {
        "summary_descriptions": settings.summary_min_descriptions,
        "summary_tokens": settings.summary_min_tokens,
        "embedder": embedder_identity,
        "listed_chunks": settings.max_chunks,
        "keeps_first": settings.chunk_limit_method == "KEEP",
        "types": sorted(types.map),
        "types_mapped": [types.map[one] for one in sorted(types.map)],
        "types_allowed": list(types.allowed),
    }


@contextmanager
def open_database(scratch: Path, variables: Variables, workers: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty database that spills into a folder of its own below `scratch`, with variables and macros set.

    If several workers do so at a time, each has its share of memory and processors.
    """
    memory = max(MEMORY_GIGABYTES / workers, WORKER_GIGABYTES)
    threads = max(1, (os.cpu_count() or 1) // workers)
    with bounded(f"{memory:.2f}GB", scratch / f".merge.{uuid4().hex}", threads=threads) as connection:
        _define_macros(connection)
        _prepare(connection, variables)
        yield connection


@contextmanager
def open_small_database(variables: Variables) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with variables and macros set, for some hundred rows; its tables are dropped with it.

    Opening a database takes longer than such a merge, so all connections of the process are to one; threads may share
    it, since every table is temporary.
    """
    with connect(_small_database) as connection:
        _prepare(connection, variables)
        yield connection


def _small_database() -> duckdb.DuckDBPyConnection:
    # Without threads of its own: a forked process does not have them, and could not even end without them.
    connection = open_duckdb(threads=1, async_threads=0, memory_limit=f"{MEMORY_GIGABYTES}GB")
    _define_macros(connection)
    return connection


def _define_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the macros for all connections to a database: one by one, they are a seventh of a small merge."""
    define_macros(connection)
    run(connection, "macros")
    # They are temporary in databases that the merge does not own.
    connection.execute(read_statement("shared").replace("CREATE TEMP MACRO", "CREATE MACRO"))


def _prepare(connection: duckdb.DuckDBPyConnection, variables: Variables) -> None:
    for name, value in ({"whitespace": WHITESPACE} | variables).items():
        connection.execute(f"SET VARIABLE {name} = $1", [value])
    connection.execute("CREATE TEMP TABLE entity_name (name VARCHAR, base_id VARCHAR, entity_id VARCHAR)")


@contextmanager
def readable(paths: Iterable[Path]) -> Iterator[None]:
    """Turn an error of the database into one that names the damaged file, if one of those it read is damaged.

    Raises:
        StoreError: a file is missing or damaged, or memory or disk ran out.
    """
    try:
        yield
    except duckdb.Error as error:
        for path in paths:
            atomic.read_parquet(path)
        step = "run again, with more disk or memory if that was full"
        raise StoreError(f"the merge failed: {one_line(error)}; {step}") from error


def run(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Execute all statements of a file in sql/."""
    connection.execute(read_statement(name))


def fetch(connection: duckdb.DuckDBPyConnection, statement: str, schema: pa.Schema) -> pa.Table:
    """Return the rows of a query in the columns of a schema."""
    return connection.sql(statement).to_arrow_table().select(schema.names).cast(schema)


def count(connection: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return the one number that a query yields."""
    return int(connection.execute(statement).fetchall()[0][0])


def read_statement(name: str) -> str:
    """Return the text of a file in sql/."""
    return read_sql(__package__, f"sql/{name}")
