"""The process that answers Cypher: it opens a graph, gives up its rights, and then runs queries.

It can then only read that graph and answer: no file and no socket can be opened, and memory has a bound.
"""

import json
import resource
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from lightrag_dagster.core.serving import IDLE_SECONDS, Channel, limit_further
from lightrag_dagster.errors import one_line
from lightrag_dagster.indexes.cypher import wire
from lightrag_dagster.indexes.cypher.database import Connection, connected, result_of
from lightrag_dagster.indexes.cypher.wire import COLUMNS, END, FULL, MEMORY_GB, ROWS, WRONG

_HALF = MEMORY_GB << 29
_BATCH_BYTES = 1 << 18
_FULL = ("std::bad_alloc", "Buffer manager exception")

# A value of each type for which Kùzu imports a module of Python: later the process has no right to do that.
_TYPES = [date(1, 1, 1), datetime(1, 1, 1, tzinfo=UTC), timedelta(1), Decimal(1), UUID(int=1), [1], {"a": 1}]


def serve(channel: Channel, arguments: list[str]) -> None:
    """Answer queries on a graph, until no more come.

    Args:
        channel: brings a query, its parameters, its number of rows and its seconds, as a list of values.
        arguments: the path of the graph.
    """
    with connected(arguments[0], _HALF, read_only=True) as connection:
        _warm_up(connection)
        _give_up_rights()
        channel.say_ready()
        while _answer(channel, connection):
            pass


def _warm_up(connection: Connection) -> None:
    for value in _TYPES:
        with result_of(connection, "RETURN $value", {"value": value}) as result:
            result.get_next()


def _give_up_rights() -> None:
    limit_further(_HALF, resource.RLIMIT_AS)
    # Standard input is the one file below; to wait for a message needs a limit of one.
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1))


def _answer(channel: Channel, connection: Connection) -> bool:
    """Answer one query; return True if the process can answer another one."""
    query, parameters, rows, seconds = json.loads(channel.receive(IDLE_SECONDS))
    connection.set_query_timeout(round(seconds * 1000))
    messages = _messages(connection, query, parameters, rows)
    while True:
        try:
            message = next(messages, None)
        except Exception as error:
            if isinstance(error, MemoryError) or str(error).startswith(_FULL):
                channel.send(FULL)
                return False
            message = WRONG + one_line(error).encode("utf-8", "replace")
        if message is None:
            return True
        channel.send(message)


def _messages(connection: Connection, query: str, parameters: dict[str, object], rows: int) -> Iterator[bytes]:
    with result_of(connection, query, parameters) as result:
        yield COLUMNS + wire.dumps(result.get_column_names())
        batch, size = [], 0
        while rows and result.has_next():
            batch.append(wire.dumps(result.get_next()))
            rows, size = rows - 1, size + len(batch[-1])
            if size >= _BATCH_BYTES:
                yield ROWS + b"[" + b",".join(batch) + b"]"
                batch, size = [], 0
        yield ROWS + b"[" + b",".join(batch) + b"]"
        yield END + wire.dumps(result.has_next())
