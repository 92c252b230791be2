"""The start of the walk of mode `fusion`: entities that the question names or is about, and similar chunks."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.hits import Hits
from lightrag_dagster.query.linking import Link

Mass = npt.NDArray[np.float32]

_SAME = 1e-6


def peaks(scores: Mass) -> Mass:
    """Return the standard deviations of each score above the mean, or 0; equal scores are all 1.

    So rankings of different scales can be added, and one with a clear gap after its first hits weighs more than one
    without.
    """
    spread = float(scores.std()) if len(scores) else 0.0
    if spread < _SAME:
        return np.ones_like(scores)
    above: Mass = np.maximum(scores - scores.mean(), 0) / np.float32(spread)
    return above


def share(mass: Mass) -> Mass:
    """Return shares that sum to 1, or only zeros."""
    total = mass.sum()
    return mass / total if total else mass


def largest(mass: Mass, limit: int) -> Hits:
    """Return the rows of most mass, best first, ties by row; none without mass."""
    rows = np.argpartition(-mass, min(limit, len(mass) - 1))[:limit] if len(mass) else np.zeros(0, dtype=int)
    best = rows[np.lexsort((rows, -mass[rows]))]
    return {int(row): float(mass[row]) for row in best if mass[row] > 0}


def seeds_of_names(links: Iterable[Link], spread: npt.NDArray[np.int64]) -> Mass:
    """Return the share of each entity that the question names.

    A name counts by its probability and rarity. An entity that occurs in many chunks says little, so its share is
    divided by their number (node specificity, as HippoRAG has it).
    """
    mass = np.zeros(len(spread), dtype=np.float32)
    for link in links:
        found = link.entities
        mass[found] += link.probability * link.weight / len(found) / np.maximum(spread[found], 1)
    return share(mass)


def seeds_of_relations(graph: Adjacency, relations: Hits, spread: npt.NDArray[np.int64]) -> Mass:
    """Return the share of each entity at an end of relations that resemble the question, by the squares of `peaks`."""
    mass = np.zeros(len(spread), dtype=np.float32)
    weights = peaks(scores_of(relations)) ** 2
    np.add.at(mass, graph.endpoints[np.array(list(relations), dtype=np.int32)], weights[:, None])
    seeds = np.flatnonzero(mass)
    mass[seeds] /= np.maximum(spread[seeds], 1)
    return share(mass)


def scores_of(hits: Hits) -> Mass:
    """Return the scores of hits as an array."""
    return np.array([score or 0.0 for score in hits.values()], dtype=np.float32)


def direct_scores(dense: Hits, lexical: Mass, weights: tuple[float, float], limit: int) -> Mass:
    """Return the similarity of each chunk and the question: the sum of `peaks` of the dense and lexical rankings.

    Args:
        dense: the chunks nearest to the question, with their similarity.
        lexical: the BM25 score of every chunk.
        weights: the weights of the two rankings.
        limit: the number of best chunks among which a BM25 score is compared.
    """
    scores = np.zeros(len(lexical), dtype=np.float32)
    if dense:
        scores[list(dense)] += weights[0] * peaks(scores_of(dense))
    if lexical.any():
        best = np.argpartition(-lexical, min(limit, len(lexical)) - 1)[:limit]
        scores[best] += weights[1] * np.where(lexical[best] > 0, peaks(lexical[best]), 0)
    return scores
