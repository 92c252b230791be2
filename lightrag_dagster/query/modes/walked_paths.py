"""Paths of a random walk to a passage: each follows most of the passage's mass."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.hits import Path
from lightrag_dagster.query.modes.seeds import Mass
from lightrag_dagster.query.naming import name_of, place_of

_LONGEST = 5


class Walked(NamedTuple):
    """A finished walk: the mass that began at each node, the mass of the walk there, and the part that steps on."""

    begun: Mass
    mass: Mass
    damping: float


def paths_by(graph: Adjacency, transitions: csr_array, walked: Walked) -> Callable[[int], list[Path]]:
    """Return a function that names the nodes of the strongest path to a chunk."""
    split = len(graph.entities.ids)
    return lambda chunk: [names_along(graph, strongest_path(transitions, walked, split + chunk))]


def strongest_path(transitions: csr_array, walked: Walked, node: int) -> list[int]:
    """Return the nodes from the walk's start to `node`, each the one that gave the next most of its mass.

    It ends at the node where most of the mass began, or after five steps; no node is twice on it.
    """
    path = [node]
    while len(path) <= _LONGEST:
        first = path[0]
        around = slice(*transitions.indptr[first : first + 2])
        before = transitions.indices[around]
        shares = walked.damping * transitions.data[around] * walked.mass[before]
        shares[np.isin(before, path)] = 0
        if not len(shares) or shares.max() <= max(float(walked.begun[first]), 0.0):
            break
        path.insert(0, int(before[shares.argmax()]))
    return path


def names_along(graph: Adjacency, path: list[int]) -> Path:
    """Return the names of the nodes of a path: the name of an entity, the first place of a chunk."""
    split = len(graph.entities.ids)
    return [name_of(graph, node) if node < split else place_of(graph, node - split) for node in path]
