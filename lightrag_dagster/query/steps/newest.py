"""Chunks in the order of the dates of their documents, where a question prefers the newest."""

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.hits import Hits


def newest_first(graph: Adjacency, hits: Hits) -> Hits:
    """Return chunks by the date of their first document, newest first, those without last; ties keep their order."""
    dates = graph.citations.column("date")
    known = {row: dates[int(graph.citation_offsets[row])].as_py() or "" for row in hits}
    return {row: hits[row] for row in sorted(hits, key=known.__getitem__, reverse=True)}
