"""Cypher without the guard: only the process, which has no rights."""

import json

from lightrag_dagster.core.child import Child
from lightrag_dagster.indexes.cypher.reader import CypherReader, Rows, _exchange


def run(reader: CypherReader, query: str, parameters: dict[str, object] | None = None) -> Rows | str:
    """Return the rows of any query at all, or why Kùzu does not run it."""
    question = json.dumps([query, parameters or {}, 1000, 20.0]).encode()

    def exchange(child: Child) -> Rows | bytes:
        return _exchange(child, question, 20.0)

    answer = reader._processes.ask(exchange)
    return answer if isinstance(answer, Rows) else answer.decode()
