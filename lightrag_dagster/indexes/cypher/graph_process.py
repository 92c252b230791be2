"""The process that writes graph databases: a full disk ends Kùzu's process, which must not be that of a run."""

import json
import os
from contextlib import ExitStack
from pathlib import Path

from lightrag_dagster.core.serving import IDLE_SECONDS, Channel
from lightrag_dagster.errors import one_line
from lightrag_dagster.indexes.cypher.database import Connection, connected, result_of

STATEMENT_SECONDS = 24 * 3600.0
"""The longest time of a statement, or between two of them."""


def serve(channel: Channel, arguments: list[str]) -> None:
    """Write one database after the other.

    Args:
        channel: brings the path of a new database and the size of its pool in bytes, then statements, each answered by
            its problem, and at last an empty one, answered when the database is closed. They name files beside it
            without their folder, in whose name Kùzu would take brackets for a pattern.
        arguments: none.
    """
    channel.say_ready()
    while True:
        path, pool = json.loads(channel.receive(IDLE_SECONDS))
        with ExitStack() as stack:
            try:
                os.chdir(Path(path).parent)
                stack.callback(os.chdir, "/")  # waiting in a removed folder would hold its disk
                connection = stack.enter_context(connected(path, pool, read_only=False))
            except (RuntimeError, OSError) as error:
                channel.send(one_line(error).encode("utf-8", "replace"))
                continue
            channel.send(b"")
            while statement := channel.receive(STATEMENT_SECONDS).decode():
                channel.send(_run(connection, statement).encode("utf-8", "replace"))
        channel.send(b"")


def _run(connection: Connection, statement: str) -> str:
    """Run a statement, and return its problem; empty if it succeeded."""
    try:
        with result_of(connection, statement):
            return ""
    except RuntimeError as error:
        return one_line(error)
