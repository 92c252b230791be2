"""The names that people read for rows of the graph arrays."""

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency


def place_of(graph: Adjacency, chunk: int) -> str:
    """Return the first place of a chunk, as source/path; empty if a filter leaves it none."""
    places = graph.citations_of(chunk)
    return f"{places[0]['source']}/{places[0]['path']}" if places else ""


def name_of(graph: Adjacency, entity: int) -> str:
    """Return the name of an entity, as spelt in the documents that a filter allows."""
    (row,) = graph.entities.take(np.array([entity], dtype=np.int32))
    return str(row["name"])
