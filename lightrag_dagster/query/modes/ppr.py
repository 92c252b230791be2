"""Mode `ppr`: chunks found by Personalized PageRank over entities, relations and chunks; the walk and its paths.

After HippoRAG 2 (Gutiérrez et al., "From RAG to Memory", 2025), with its parameters. A random walk starts at the rows
that resemble the question: the ends of the few relations nearest to it, or the nearest entities if there are
none, and with a small share the nearest chunks. It follows relations, and the links between entities and the chunks
that mention them, and restarts with probability 1 − damping. Chunks are ranked by the number of visits. The embedder
is the only model that is called, unless `query.filter_relations` has a language model choose the relations.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log
from typing import NamedTuple

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.hits import Found, Path
from lightrag_dagster.query.modes.seeds import Mass, largest, scores_of, share
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.steps.relation_filter import filter_relations
from lightrag_dagster.query.transitions import Steps

_TOLERANCE = 1e-5
_LONGEST_PATH = 5


@dataclass(frozen=True)
class Walk:
    """The parameters of the walk; the defaults are measured in docs/measurements/retrieval.md.

    `damping` is the probability of a further step. The walk starts at the ends of `relations` relations, or else at the
    same number of entities, and with probability `chunk_share` at one of `start_chunks` chunks.
    """

    damping: float = 0.5
    relations: int = 5
    start_chunks: int = 200
    chunk_share: float = 0.05


WALK = Walk()


def find_by_pagerank(search: Search) -> Found:
    """Find entities, relations and chunks for a question, best first.

    Entities and chunks are ranked by the mass of the walk, which is their score. Relations are those that resemble the
    question; the walk started from the first.
    """
    graph, settings = search.snapshot.graph, search.settings
    near = search.begin_nearest(relations=search.query, chunks=search.query, most_chunks=WALK.start_chunks)()
    filtered = filter_relations(search, near.relations)
    entities = {} if any(filtered.relations.values()) else search.nearest(entities=search.query).entities
    start = start_mass(graph, replace(near, relations=filtered.relations, entities=entities), WALK)
    if not start.any():
        return Found({}, near.relations, near.chunks, filtered.notes)
    mass = pagerank(search.snapshot.transitions, start, WALK.damping)
    split = len(graph.entities.ids)
    chunks = largest(mass[split:], settings.chunk_top_k)
    paths_to = paths_by(graph, search.snapshot.transitions, Walked((1 - WALK.damping) * start, mass, WALK.damping))
    return Found(largest(mass[:split], settings.top_k), near.relations, chunks, filtered.notes, paths_to)


def start_mass(graph: Adjacency, near: Found, walk: Walk) -> Mass:
    """Return the start of the walk: one number per node, entities first, then chunks; they sum to 1, or to 0.

    An entity that occurs in many chunks says little, so its share is divided by their number (node specificity).
    """
    named = np.zeros(len(graph.entities.ids), dtype=np.float32)
    for row, score in list(near.relations.items())[: walk.relations]:
        named[graph.endpoints[row]] += score or 0.0
    if not named.any():
        for row, score in list(near.entities.items())[: walk.relations]:
            named[row] += score or 0.0
    seeds = np.flatnonzero(named)
    named[seeds] /= np.maximum(graph.entity_chunks.offsets[seeds + 1] - graph.entity_chunks.offsets[seeds], 1)
    begun = np.zeros(len(graph.chunks.ids), dtype=np.float32)
    if near.chunks:
        scores = scores_of(near.chunks)
        # The least similar chunk starts with 0, so that differences count and not the level that all share.
        begun[list(near.chunks)] = share(scores - scores.min() + 1e-6)
    return share(np.concatenate([(1 - walk.chunk_share) * share(named), walk.chunk_share * begun]))


def pagerank(transitions: Steps, start: Mass, damping: float, longest: int | None = None) -> Mass:
    """Return the share of visits of every node in the long run, which sums to 1; by power iteration.

    Args:
        transitions: the steps between nodes.
        start: probabilities of the first node; sums to 1.
        damping: probability of a further step.
        longest: the length of the longest walk that counts, or None for as many steps as can change much: each
            changes at most `damping` times what the one before did. It ends sooner if another step changes little.
    """
    longest = ceil(log(_TOLERANCE / 2, damping)) if longest is None else longest
    mass, begun = start.copy(), np.flatnonzero(start)
    for _ in range(longest):
        following = transitions.after(mass)
        following *= damping
        following[begun] += (1.0 - following.sum()) * start[begun]
        mass -= following  # in place, as each pass over a million nodes takes a millisecond
        changed = float(np.abs(mass, out=mass).sum())
        mass = following
        if changed < _TOLERANCE:
            break
    return mass


class Walked(NamedTuple):
    """A finished walk: the mass that began at each node, the mass of the walk there, and the part that steps on."""

    begun: Mass
    mass: Mass
    damping: float


def paths_by(graph: Adjacency, transitions: Steps, walked: Walked) -> Callable[[int], list[Path]]:
    """Return a function that names the nodes of the strongest path to a chunk."""
    split = len(graph.entities.ids)
    return lambda chunk: [names_along(graph, strongest_path(transitions, walked, split + chunk))]


def strongest_path(transitions: Steps, walked: Walked, node: int) -> list[int]:
    """Return the nodes from the walk's start to `node`, each the one that gave the next most of its mass.

    It ends at the node where most of the mass began, or after five steps; no node is twice on it.
    """
    path = [node]
    while len(path) <= _LONGEST_PATH:
        first = path[0]
        around = slice(*transitions.into.indptr[first : first + 2])
        before = transitions.into.indices[around]
        shares = walked.damping * transitions.into.data[around] * walked.mass[before]
        shares[np.isin(before, path)] = 0
        if not len(shares) or shares.max() <= max(float(walked.begun[first]), 0.0):
            break
        path.insert(0, int(before[shares.argmax()]))
    return path


def names_along(graph: Adjacency, path: list[int]) -> Path:
    """Return the names of the nodes of a path: the name of an entity, the first place of a chunk."""
    split = len(graph.entities.ids)
    return [graph.name_of(node) if node < split else graph.place_of(node - split) for node in path]
