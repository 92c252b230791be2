"""BM25 over the chunks of a snapshot, a control: what a search engine without embeddings or graph would find.

The index is LanceDB's own. It is built for one evaluation and thrown away, since no other question asks it.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lancedb
from lancedb.index import FTS
from lancedb.query import MatchQuery

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.modes import Hits

_SPARE = 20
"""Hits beyond the limit, so that which of several equal ones comes first does not depend on the index."""


class FullText:
    """A full-text index; open it by `full_text`."""

    def __init__(self, table: Any, graph: Adjacency) -> None:
        self._table = table
        self._graph = graph

    def search(self, query: str, limit: int) -> Hits:
        """Return the chunks with the highest BM25 scores, best first, ties by id."""
        match = MatchQuery(query, "content")  # type: ignore[call-arg]  # mypy does not see the defaults
        found = (
            self._table.search(match, query_type="fts").select(["chunk_id", "_score"]).limit(limit + _SPARE).to_arrow()
        )
        best = sorted(zip(found["chunk_id"].to_pylist(), found["_score"].to_pylist(), strict=True), key=_best_first)
        rows = self._graph.chunks.rows_of([one for one, _ in best[:limit]])
        return dict(zip(rows.tolist(), (score for _, score in best), strict=False))


@contextmanager
def full_text(graph: Adjacency) -> Iterator[FullText]:
    """Index the chunks for one block. Words are stemmed as English ones; those of other languages match as written."""
    with tempfile.TemporaryDirectory(prefix="lightrag-full-text-") as folder:
        chunks = graph.chunks.rows.select(["chunk_id", "content"])
        table = lancedb.connect(folder).create_table("chunks", chunks)
        table.create_index("content", config=FTS())
        yield FullText(table, graph)


def _best_first(hit: tuple[str, float]) -> tuple[float, str]:
    return -hit[1], hit[0]
