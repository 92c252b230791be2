"""Cypher over a finished graph, asked of a process of its own."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lightrag_dagster.core.child import Child, ChildEndedError, ChildStartError, Pool, PoolClosedError
from lightrag_dagster.errors import QueryError, QueryTimeoutError, StoreError, one_line
from lightrag_dagster.indexes.cypher.guard import require_parameters, require_reading
from lightrag_dagster.indexes.cypher.wire import COLUMNS, END, FULL, MEMORY_GB, ROWS
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.manifests import BuiltGraph
from lightrag_dagster.storage.records import Pointer, read_record
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.generations import GRAPH, GRAPH_RECORD, Generation
from lightrag_dagster.storage.snapshots.made_graphs import made_graph

LIMIT = 1000

_PROCESS = "lightrag_dagster.indexes.cypher.process"
_ANSWER_MB = 128
_BUILDS = "`lightrag-dagster run` builds that of the published snapshot"
_GRACE_SECONDS = 2.0  # Kùzu itself ends a query that takes too long, and its process can continue


@dataclass(frozen=True)
class Rows:
    """The first rows of an answer by column, its columns, and a flag for more rows."""

    columns: list[str]
    rows: list[dict[str, Any]]
    more: bool


Ask = Callable[[Pool, Callable[[Child, float | None], Rows | bytes]], Rows | bytes]
"""A function that asks a process of a pool, in the seconds that are left, if there is a limit."""


def _at_once(processes: Pool, exchange: Callable[[Child, float | None], Rows | bytes]) -> Rows | bytes:
    return processes.ask(lambda child: exchange(child, None))


class CypherReader:
    """A graph, for read-only Cypher; threads take turns. Its process starts with the first query."""

    def __init__(self, graph: Path) -> None:
        self._graph = graph
        self._processes = Pool(_PROCESS, [str(graph)], most=1)

    def query(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limit: int = LIMIT,
        seconds: float = 60.0,
        ask: Ask = _at_once,
    ) -> Rows:
        """Run one query and return its first rows.

        Nodes and relationships are dictionaries of their properties, with `_label` and `_id`.

        Args:
            query: Cypher that only reads the graph.
            parameters: values of its `$name` parameters.
            limit: maximum number of rows, from 1.
            seconds: maximum time.
            ask: asks the process in the time that the caller has left.

        Raises:
            QueryError: the query is wrong or refused, exceeds a bound, or ended the process; or the reader is closed.
            QueryTimeoutError: it takes longer than `seconds`.
            StoreError: the graph is missing or damaged.
        """
        question = partial(_question, query, parameters or {}, limit)
        question(seconds)  # refused before its turn, if it is wrong

        def exchange(child: Child, left: float | None) -> Rows | bytes:
            within = seconds if left is None else min(seconds, left)
            return _exchange(child, question(within), within)

        with self._explained(seconds):
            answer = ask(self._processes, exchange)
        if isinstance(answer, Rows):
            return answer
        raise _failure(answer, seconds)

    def close(self) -> None:
        """End the process; a running query, and later ones, raise QueryError."""
        self._processes.close()

    @contextmanager
    def _explained(self, seconds: float) -> Iterator[None]:
        """Raise errors of the process in the block as those of `query`."""
        try:
            yield
        except TimeoutError as error:
            raise _too_slow(seconds) from error
        except OverflowError as error:
            raise QueryError(f"the answer is larger than {_ANSWER_MB} MB; return fewer columns or rows") from error
        except (RecursionError, TypeError, ValueError) as error:
            raise QueryError(f"Kùzu's process gave no usable answer ({one_line(error)}); ask in another way") from error
        except ChildStartError as error:
            raise StoreError(
                f"the graph {self._graph} cannot be opened{error}; run `lightrag-dagster run --verify`"
            ) from error
        except ChildEndedError as error:
            raise QueryError(
                f"the Cypher ended Kùzu's process{error}, a fault of Kùzu; ask in another way. Other queries still work"
            ) from error
        except PoolClosedError as error:
            raise QueryError("the knowledge base is closed; open it again") from error


def require_graph(generation: Generation, settings: Settings) -> Path:
    """Return the graph of a snapshot, fetched from a bucket and checked, or made again in the cache if it was removed.

    Raises:
        IntegrityError: one that is made again differs from the tables.
        StoreError: it is left out, that of the published snapshot is not built or damaged, or the disk refuses.
    """
    home = generation.home
    path = generation.path(GRAPH)
    record = generation.path(GRAPH_RECORD)
    if not (path.exists() and record.exists()):
        home.files.refresh([record, home.published])
    if built := read_record(record, BuiltGraph):
        home.files.open([path], {path: built.file.size})
        if path.exists() and path.stat().st_size == built.file.size:
            if isinstance(generation, CheckedGeneration):
                generation.checks.require([path])
            return path
    published = read_record(home.published, Pointer)
    is_published = published is not None and published.id == generation.id
    if built and is_published:
        what = "damaged" if path.exists() else "missing"
        raise StoreError(f"the graph {path} is {what}; `lightrag-dagster run --verify` builds it again")
    if not settings.builds_graph:
        left_out = "is left out: the setting dagster.without names published_graph; take that out"
        raise StoreError(f"the graph of {generation.id} {left_out}" + (f", and {_BUILDS}" if is_published else ""))
    if is_published:
        raise StoreError(f"the graph of {generation.id} is not built yet; {_BUILDS}")
    from lightrag_dagster.indexes.cypher.graph import write_graph  # with DuckDB and Kùzu, which no question needs

    return made_graph(generation, settings.cache, partial(write_graph, generation))


def _question(query: str, parameters: Mapping[str, Any], limit: int, seconds: float) -> bytes:
    """Return the message for the process; raises QueryError for a query that is refused or cannot be sent."""
    try:
        require_reading(query)
        require_parameters(query, parameters)
        return json.dumps([query, dict(parameters), limit, seconds], ensure_ascii=False).encode()
    except (RecursionError, TypeError, ValueError) as error:
        raise QueryError(f"the Cypher or its parameters cannot be sent: {one_line(error)}") from error


def _exchange(child: Child, question: bytes, seconds: float) -> Rows | bytes:
    """Return the answer of the process, or its message in place of one."""
    child.send(question)
    deadline, left = time.monotonic() + seconds + _GRACE_SECONDS, _ANSWER_MB << 20
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    while True:
        message = child.receive(deadline - time.monotonic(), left)
        left -= len(message)
        kind, content = message[:1], message[1:]
        if kind == COLUMNS:
            columns = json.loads(content)
        elif kind == ROWS:
            rows += [dict(zip(columns, row, strict=True)) for row in json.loads(content)]
        elif kind == END:
            return Rows(columns, rows, json.loads(content))
        else:
            return message


def _failure(message: bytes, seconds: float) -> QueryError:
    if message[:1] == FULL:
        return QueryError(f"the Cypher needs more than {MEMORY_GB} GB of memory; narrow it and ask again")
    reason = message[1:].decode("utf-8", "replace")
    return _too_slow(seconds) if reason.startswith("Interrupted") else QueryError(f"the Cypher cannot be run: {reason}")


def _too_slow(seconds: float) -> QueryTimeoutError:
    return QueryTimeoutError(f"the Cypher took longer than {seconds:g} s; narrow it and ask again")
