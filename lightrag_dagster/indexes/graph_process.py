"""The process that writes graph databases: a full disk ends Kùzu's process, which must not be that of a run."""

import json
import os
from contextlib import closing

import kuzu

from lightrag_dagster.core.serving import IDLE_SECONDS, Channel
from lightrag_dagster.errors import one_line

STATEMENT_SECONDS = 24 * 3600.0
"""The longest time of a statement, or between two of them."""

MAX_DATABASE = 1 << 35
"""Addresses of a database; a power of 2. Kùzu's default of 8 TiB is refused by containers. Bytes."""

_THREADS = os.cpu_count() or 1


def serve(channel: Channel, arguments: list[str]) -> None:
    """Write one database after the other.

    Args:
        channel: brings the path of a new database and the size of its pool in bytes, then statements, each answered by
            its problem, and at last an empty one, answered when the database is closed.
        arguments: none.
    """
    channel.say_ready()
    while True:
        path, pool = json.loads(channel.receive(IDLE_SECONDS))
        try:
            database = kuzu.Database(path, buffer_pool_size=pool, max_db_size=MAX_DATABASE, max_num_threads=_THREADS)
        except RuntimeError as error:
            channel.send(one_line(error).encode("utf-8", "replace"))
            continue
        with closing(database), closing(kuzu.Connection(database)) as connection:
            channel.send(b"")
            while statement := channel.receive(STATEMENT_SECONDS).decode():
                channel.send(_run(connection, statement).encode("utf-8", "replace"))
        channel.send(b"")


def _run(connection: kuzu.Connection, statement: str) -> str:
    """Run a statement, and return its problem; empty if it succeeded."""
    try:
        result = connection.execute(statement)
    except RuntimeError as error:
        return one_line(error)
    assert isinstance(result, kuzu.QueryResult)  # it is a list only for several statements
    result.close()
    return ""
