"""Distances and paths over the arrays of the graph; of equal paths, the first by ids."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Rows

Distances = npt.NDArray[np.float64]
"""The distance of every entity from one; infinite without a path."""

_EQUAL = 1e-12
"""Relative difference below which two sums of 1 / weight are equal."""


class Links(NamedTuple):
    """Relations around some entities: the entity that each starts at, its row, and the entity at its other end."""

    owners: npt.NDArray[np.int64]
    relations: Rows
    others: npt.NDArray[np.int64]


def links_of(graph: Adjacency, entities: npt.NDArray[np.int64]) -> Links:
    """Return the relations around some entities, one entity after the other."""
    at, relations = graph.entity_relations.of_each(entities)
    owners = entities[at]
    return Links(owners, relations, graph.endpoints[relations].sum(axis=1, dtype=np.int64) - owners)


def hops_from(graph: Adjacency, start: int, most: float = np.inf) -> Distances:
    """Return the number of hops from an entity to every other, infinite beyond `most`."""
    distances = np.full(len(graph.entities.ids), np.inf)
    distances[start] = hops = 0
    frontier = np.array([start])
    while len(frontier) and hops < most:
        hops += 1
        others = links_of(graph, frontier).others
        frontier = np.unique(others[np.isinf(distances[others])])
        distances[frontier] = hops
    return distances


def strengths_of(graph: Adjacency) -> csr_array:
    """Return the symmetric matrix of 1 / weight of the relations whose weight is above 0."""
    relations = np.unique(graph.entity_relations.values)
    costs = costs_of(graph)[relations]
    usable = np.isfinite(costs)
    one, other = graph.endpoints[relations[usable]].T
    places = (np.concatenate([one, other]), np.concatenate([other, one]))
    number = len(graph.entities.ids)
    return coo_array((np.tile(costs[usable], 2), places), shape=(number, number)).tocsr()


def costs_of(graph: Adjacency) -> Distances:
    """Return 1 / weight of every relation; infinite without a weight above 0."""
    weights = graph.relations.values("weight")
    costs = np.full(len(weights), np.inf)
    np.divide(1.0, weights, out=costs, where=weights > 0)
    return costs


def lengths_from(strengths: csr_array, start: int) -> Distances:
    """Return the smallest sum of 1 / weight from an entity to every other."""
    lengths: Distances = dijkstra(strengths, directed=True, indices=start)  # it is symmetric
    return lengths


def walk(graph: Adjacency, start: int, left: Distances, costs: Distances | None) -> list[tuple[int, int]]:
    """Return the relation and the entity of each step from `start` to the entity from which `left` was measured.

    Each step goes to the entity with the smallest id of those on a shortest path. `costs` are those of the relations;
    without them each is 1.
    """
    steps, here = list[tuple[int, int]](), start
    while left[here] > 0:
        _, relations, others = links_of(graph, np.array([here]))
        through = left[others] + (1.0 if costs is None else costs[relations])
        on_path = (left[others] < left[here]) & (through <= left[here] * (1 + _EQUAL))
        place = int(np.flatnonzero(on_path)[np.argmin(others[on_path])])
        here = int(others[place])
        steps.append((int(relations[place]), here))
    return steps
