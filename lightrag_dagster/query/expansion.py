"""Step 3: from what was found to its neighbourhood in the graph, as rows of the adjacency arrays."""

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency, Rows


def relations_around(graph: Adjacency, entities: Rows) -> list[int]:
    """Return the relations that end at any of the entities, by rank, then weight, descending.

    Of equal ones those around the first entities come first, and around one entity the smallest ids.
    """
    around = np.concatenate([graph.entity_relations.values[:0], *map(graph.entity_relations.of, entities.tolist())])
    _, first = np.unique(around, return_index=True)
    relations = around[np.sort(first)]
    best: list[int] = relations[np.argsort(graph.priority[relations], kind="stable")].tolist()
    return best


def endpoints_of(graph: Adjacency, relations: Rows) -> list[int]:
    """Return the entities that the relations join, in order of appearance."""
    return list(dict.fromkeys(graph.endpoints[relations].ravel().tolist()))
