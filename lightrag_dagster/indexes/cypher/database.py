"""Databases of Kùzu: nothing else imports it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import kuzu

Connection = kuzu.Connection
Result = kuzu.QueryResult

_MAX_DATABASE = 1 << 35
"""Addresses of a database; a power of 2. Kùzu's default of 8 TiB is refused by containers. Bytes."""

_THREADS = os.cpu_count() or 1


@contextmanager
def connected(path: str, pool: int, *, read_only: bool) -> Iterator[Connection]:
    """Open a database for the block, with a pool of pages in bytes; Kùzu's default is 80% of memory.

    Raises:
        RuntimeError, OSError: it cannot be opened.
    """
    database = kuzu.Database(
        path, buffer_pool_size=pool, max_db_size=_MAX_DATABASE, max_num_threads=_THREADS, read_only=read_only
    )
    with closing(database), closing(kuzu.Connection(database)) as connection:
        yield connection


@contextmanager
def result_of(
    connection: Connection, statement: str, parameters: Mapping[str, object] | None = None
) -> Iterator[Result]:
    """Run a statement, and close its result after the block: one that outlives its database crashes the process.

    Raises:
        RuntimeError: it cannot be run.
        ValueError: there are several statements.
    """
    result = connection.execute(statement, dict(parameters or {}))
    if isinstance(result, list):
        for one in result:
            one.close()
        raise ValueError("it holds several statements")
    with closing(result):
        yield result
