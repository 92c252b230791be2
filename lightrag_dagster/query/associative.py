"""Mode `ppr`: chunks by association, found by Personalized PageRank over entities, relations and chunks.

After HippoRAG 2 (Gutiérrez et al., "From RAG to Memory", 2025), whose settings are the defaults. A walk starts at what
the question resembles: the ends of the few relations (facts) nearest to it, or where there are none the entities, and
with a small share the chunks nearest to it. It goes on along relations and between entities and the chunks that mention
them, and begins anew with probability 1 − damping. Chunks are ranked by how often it comes by. No model is asked but
the embedder.
"""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.search import Hits, Search
from lightrag_dagster.settings import AssociativeSettings

Mass = npt.NDArray[np.float32]

_ITERATIONS = 50
_TOLERANCE = 1e-5


def associated(search: Search) -> tuple[Hits, Hits, Hits]:
    """Return entities, relations and chunks for a question, best first.

    Entities and chunks come by the mass of the walk; an entity's score is its similarity to the question where that
    was compared, a chunk's its mass. Relations are the facts that the walk started from.
    """
    graph, settings = search.snapshot.graph, search.settings
    entities, relations, chunks = search.nearest(
        entities=search.query, relations=search.query, chunks=search.query, most_chunks=settings.ppr.start_chunks
    )
    start = restart(graph, entities, relations, chunks, settings.ppr)
    if not start.any():
        return {}, relations, chunks
    mass = pagerank(graph.transitions, start, settings.ppr.damping)
    split = len(graph.entities.ids)
    near = _largest(mass[:split], settings.top_k)
    found = _largest(mass[split:], settings.chunk_top_k)
    return {row: entities.get(row) for row in near}, relations, found


def restart(graph: Adjacency, entities: Hits, relations: Hits, chunks: Hits, settings: AssociativeSettings) -> Mass:
    """Return where the walk begins: one number a node, entities first, then chunks; they sum to 1, or to 0.

    An entity that stands in many chunks says little, so its share is divided by their number (node specificity).
    """
    start = np.zeros(len(graph.entities.ids) + len(graph.chunks.ids), dtype=np.float32)
    named = np.zeros(len(graph.entities.ids), dtype=np.float32)
    for row, score in list(relations.items())[: settings.facts]:
        named[graph.endpoints[row]] += score or 0.0
    if not named.any():
        for row, score in list(entities.items())[: settings.facts]:
            named[row] += score or 0.0
    seeds = np.flatnonzero(named)
    if settings.specificity:
        spread = graph.entity_chunks.offsets[seeds + 1] - graph.entity_chunks.offsets[seeds]
        named[seeds] /= np.maximum(spread, 1)
    if named.any():
        start[: len(named)] = (1 - settings.chunk_share) * named / named.sum()
    if chunks:
        rows = np.array(list(chunks))
        scores = np.array([score or 0.0 for score in chunks.values()], dtype=np.float32)
        # The least similar start with nothing, so that differences count and not the level that all share.
        scores = (scores - scores.min() + 1e-6) / (scores.max() - scores.min() + 1e-6)
        start[len(named) + rows] = settings.chunk_share * scores / scores.sum()
    total = start.sum()
    return start / total if total else start


def pagerank(transitions: csr_array, start: Mass, damping: float) -> Mass:
    """Return the mass of every node in the long run, which sums to 1; by power iteration.

    Args:
        transitions: nodes × nodes; a column holds where a step from its node leads, and sums to 1, or to 0 where none
            leads anywhere: such a walk begins anew.
        start: where a walk begins; sums to 1.
        damping: the probability of a further step.
    """
    mass: Mass = start
    for _ in range(_ITERATIONS):
        stepped: Mass = damping * (transitions @ mass)
        following: Mass = stepped + (1.0 - stepped.sum()) * start
        if np.abs(following - mass).sum() < _TOLERANCE:
            return following
        mass = following
    return mass


def _largest(mass: Mass, limit: int) -> Hits:
    rows = np.argpartition(-mass, min(limit, len(mass) - 1))[:limit] if len(mass) else np.zeros(0, dtype=int)
    best = rows[np.lexsort((rows, -mass[rows]))]
    return {int(row): float(mass[row]) for row in best if mass[row] > 0}
