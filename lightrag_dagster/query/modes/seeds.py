"""The parts of mode `fusion`: entities that the question names or is about, similar chunks, and their order."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.query.hits import Hits
from lightrag_dagster.query.linking import Link

Mass = npt.NDArray[np.float32]

_SAME = 1e-6
_NEAREST, _BEST_BY_WORDS = 10, 30
"""Numbers of chunks in which two rankings are compared."""


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
    rows = np.flatnonzero(mass > 0)
    if len(rows) > limit > 0:
        rows = rows[mass[rows] >= np.partition(mass[rows], -limit)[-limit]]
    best = rows[np.argsort(-mass[rows], kind="stable")][:limit]
    return dict(zip(best.tolist(), mass[best].tolist(), strict=True))


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


def agreement(dense: Hits, lexical: Mass) -> float:
    """Return the share of the nearest chunks that are among the best by words; 1 without any to compare.

    Args:
        dense: the nearest chunks, best first.
        lexical: the BM25 score of every chunk.
    """
    nearest, best = list(dense)[:_NEAREST], largest(lexical, _BEST_BY_WORDS)
    return sum(row in best for row in nearest) / len(nearest) if nearest and best else 1.0


def order_named(mass: Mass, similarity: Mass, named: Rows, weight: float) -> Mass:
    """Return the mass of chunks, where those of named entities that have some have changed places among themselves.

    Args:
        mass: of every chunk.
        similarity: of every chunk and the question, as of `direct_scores`.
        named: the chunks of named entities.
        weight: that of their shares of similarity, 0 to 1; the rest is that of their shares of mass.
    """
    named = named[mass[named] > 0]
    merit = weight * share(similarity[named]) + (1 - weight) * share(mass[named])
    ordered = mass.copy()
    ordered[named[np.argsort(-merit, kind="stable")]] = -np.sort(-mass[named])
    return ordered


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
    if best := largest(lexical, limit):
        among = np.zeros(min(limit, len(lexical)), dtype=np.float32)
        among[: len(best)] = scores_of(best)
        scores[list(best)] += weights[1] * peaks(among)[: len(best)]
    return scores
