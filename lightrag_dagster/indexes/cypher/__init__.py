"""Room with a door: the graph database of a snapshot, and Cypher over it. Others use the names here alone."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightrag_dagster.indexes.cypher.graph import build_graph, graph_findings
    from lightrag_dagster.indexes.cypher.reader import LIMIT, CypherReader, require_graph

__all__ = ["LIMIT", "CypherReader", "build_graph", "graph_findings", "require_graph"]

# Imported at first use: `graph` brings DuckDB and Kùzu, which no question needs, and the process that answers needs
# neither of the two.
_OF_GRAPH = ("build_graph", "graph_findings")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'graph' if name in _OF_GRAPH else 'reader'}"), name)
