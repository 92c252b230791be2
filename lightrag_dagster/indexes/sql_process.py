"""The process that answers SQL, so that a statement that takes all memory, or never ends, costs only itself."""

import json
from contextlib import ExitStack, suppress
from typing import Any

import duckdb
import pyarrow as pa

from lightrag_dagster.core.serving import IDLE_SECONDS, START_SECONDS, Channel, limit_further
from lightrag_dagster.errors import LightRAGError, QueryError, StoreError, one_line
from lightrag_dagster.indexes.sql import PROCESS_LIMITS, add_tables, last_result, memory_limit, open_tables


def serve(channel: Channel, arguments: list[str]) -> None:
    """Answer statements, until no more come.

    Args:
        channel: brings the files of the tables, the statements, their seconds and the path of a file for the rows, as
            JSON, and then each further table that it names. It is answered by nothing, or the class of an error and its
            text.
        arguments: none.
    """
    with ExitStack() as opened:
        channel.say_ready()
        files, connection, is_bounded = None, None, False
        while True:
            asked = json.loads(channel.receive(IDLE_SECONDS))
            more = {name: pa.ipc.open_stream(channel.receive(START_SECONDS)).read_all() for name in asked["more"]}
            try:
                if connection is None or asked["files"] != files:
                    opened.close()
                    connection, files = opened.enter_context(open_tables(asked["files"])), asked["files"]
                if not is_bounded:
                    limit_further(PROCESS_LIMITS * memory_limit(connection))
                    is_bounded = True
                _answer(connection, asked, more)
                channel.send(b"")
            except LightRAGError as error:
                channel.send(f"{type(error).__name__} {error}".encode("utf-8", "replace"))
            # The next statement has a database of its own, opened before it comes: that takes longer than many do.
            opened.close()
            connection = None
            with suppress(LightRAGError):  # of which the next statement says more
                connection = opened.enter_context(open_tables(asked["files"]))


def _answer(connection: duckdb.DuckDBPyConnection, asked: dict[str, Any], more: dict[str, pa.Table]) -> None:
    """Write the rows to a file; raises QueryError and StoreError."""
    try:
        add_tables(connection, more)
        rows = last_result(connection, asked["statements"], timeout=asked["seconds"])
        with pa.OSFile(asked["rows"], "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
    except MemoryError as error:
        raise QueryError("the SQL needs more memory than it may take; select fewer rows or columns") from error
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"the rows cannot be written to {asked['rows']}: {one_line(error)}") from error
