"""SQL over the tables of a snapshot, asked of processes of their own."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from lightrag_dagster import errors
from lightrag_dagster.core.child import Child, ChildEndedError, ChildStartError, Pool
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.asked import UnderWay

if TYPE_CHECKING:  # which imports DuckDB
    from lightrag_dagster.indexes.sql import TableFiles

_PROCESS = "lightrag_dagster.indexes.sql_process"
_AT_ONCE = 2
_UNLIMITED = 20 * 24 * 3600.0


class SqlReader:
    """Statements of SQL, two at once; threads may share it. Its processes start when they are needed."""

    def __init__(self) -> None:
        self._processes = Pool(_PROCESS, most=_AT_ONCE)

    def query(self, files: "TableFiles", statements: str, more: Mapping[str, pa.Table], asked: UnderWay) -> pa.Table:
        """Run statements and return the rows of the last one that has some; they stay in a file without a name.

        Raises:
            QueryError: as `indexes.sql.last_result`, or it ended its process.
            QueryTimeoutError: the time of the question is over.
            CancelledError: the question was given up.
            StoreError: a file of a table is damaged.
        """
        paths = {table: [str(path) for path in found] for table, found in files.items()}
        with temporary_folder("lightrag-sql-") as folder:
            question = {"files": paths, "statements": statements, "more": [*more], "rows": f"{folder}/rows.arrow"}

            def exchange(child: Child, seconds: float | None) -> bytes:
                child.send(json.dumps(question | {"seconds": seconds}).encode())
                for table in more.values():
                    child.send(_stream(table))
                return child.receive(_UNLIMITED if seconds is None else seconds)

            try:
                answer = asked.ask(self._processes, exchange)
            except ChildStartError as error:
                raise QueryError(f"the process that runs SQL does not start{error}") from error
            except ChildEndedError as error:
                raise QueryError(
                    f"the SQL ended its process{error}, for which it may have taken too much memory; narrow it"
                ) from error
            if answer:
                kind, _, said = answer.decode().partition(" ")
                raise asked.too_late() if kind == "QueryTimeoutError" else getattr(errors, kind)(said)
            with pa.memory_map(question["rows"]) as rows:
                return pa.ipc.open_file(rows).read_all()

    def close(self) -> None:
        """End the processes; running statements raise PoolClosedError."""
        self._processes.close()


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
