"""Rows of a graph database, read in this process: tests that only look need no process of their own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightrag_dagster.indexes.cypher.database import result_of
from lightrag_dagster.indexes.cypher.graph import open_graph


def graph_rows(path: Path, cypher: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of one query on a finished graph, by column."""
    with open_graph(path) as graph, result_of(graph, cypher, parameters) as result:
        return [dict(row) for row in result.rows_as_dict()]
