"""The steps of a random walk over entities and chunks, and their probabilities."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.text_arrays import counted_terms
from lightrag_dagster.indexes.text_index import Scores
from lightrag_dagster.query.linking import Mask

TITLE_STEPS = 3
"""Links from an entity to a chunk whose title names it, in addition to the one to every chunk that mentions it."""

_LINKS = 3_000_000
"""Most links of a graph through which every node steps."""

_LEAST = 1e-5
"""Least mass of a node that steps through a larger one."""

_DEARER = 12
"""Times as long a link takes there as in a product with the whole matrix."""


class Steps(NamedTuple):
    """The steps of a walk, as matrices of nodes × nodes.

    A column of `into` holds the probabilities of a step from its node, and sums to 1, or to 0 for a node without
    neighbours, where the walk restarts. `out` is its transpose, for a large graph.
    """

    into: csr_array
    out: csr_array | None = None

    @classmethod
    def of(cls, links: csr_array) -> "Steps":
        """Return the steps of a matrix as `into`."""
        return cls(links, links.T.tocsr() if links.nnz > _LINKS else None)

    def after(self, mass: Scores) -> Scores:
        """Return the mass of every node after a step.

        Through a large graph only nodes with some mass step, unless they have much of its links: so a step takes the
        time of what is near the start, and not of the whole graph (Andersen, Chung and Lang, "Local graph partitioning
        using PageRank vectors", 2006).
        """
        if self.out is not None:
            near = np.flatnonzero(mass >= _LEAST)
            links = self.out[near]
            if _DEARER * links.nnz < self.out.nnz:
                stepped = np.zeros_like(mass)
                np.add.at(stepped, links.indices, links.data * np.repeat(mass[near], np.diff(links.indptr)))
                return stepped
        whole: Scores = self.into @ mass
        return whole


def transitions_of(graph: Adjacency, walked: Mask | None = None) -> Steps:
    """Return the steps of the walk over entities, then chunks; see `ppr.pagerank`.

    A chunk whose title names an entity is about it, so a step between these two is more likely than others. No step
    goes between chunks and the entities that are not in the mask `walked`.
    """
    entities = len(graph.entities.ids)
    owners, chunks = graph.entity_chunks.owners, graph.entity_chunks.values
    titled, titles = graph.title_chunks.owners, graph.title_chunks.values
    kept = np.repeat(np.flatnonzero(np.diff(graph.citation_offsets)[titles] > 0), TITLE_STEPS)
    owners = np.concatenate([owners, titled[kept]])
    chunks = np.concatenate([chunks, titles[kept]])
    if walked is not None:
        owners, chunks = owners[walked[owners]], chunks[walked[owners]]
    relations = np.unique(graph.entity_relations.values)
    links = transition_matrix(graph.endpoints[relations], owners, chunks + entities, entities + len(graph.chunks.ids))
    return Steps.of(past_lone_entities(links, graph.entity_chunks.lengths == 1))


def counted(graph: Adjacency) -> Mask:
    """Return a mask of the entities that are counted terms."""
    return np.asarray(counted_terms(graph.entities.rows), dtype=bool)


def transition_matrix(
    endpoints: npt.NDArray[np.int32], owners: npt.NDArray[np.int64], mentioned: npt.NDArray[np.int32], nodes: int
) -> csr_array:
    """Return a matrix of nodes × nodes in which each step from a node to any neighbour is equally likely.

    Args:
        endpoints: the two entities that each relation joins, as nodes.
        owners: the entity of each mention, as a node.
        mentioned: the chunk of each mention, as a node.
        nodes: number of entities and chunks.
    """
    # Four bytes per index rather than eight: a step takes the time of reading them.
    one = np.concatenate([endpoints[:, 0], owners]).astype(np.int32)
    other = np.concatenate([endpoints[:, 1], mentioned]).astype(np.int32)
    ones = np.ones(2 * len(one), dtype=np.float32)
    places = (np.concatenate([one, other]), np.concatenate([other, one]))
    links = coo_array((ones, places), shape=(nodes, nodes)).tocsr()
    links.data /= np.asarray(links.sum(axis=0), dtype=np.float32)[links.indices]
    return links


def past_lone_entities(links: csr_array, lone: Mask) -> csr_array:
    """Return a transition matrix whose steps from chunks pass by the entities of no other chunk.

    A walk that goes there comes back, so that a chunk with many names of its own would keep its mass. The step goes to
    the entities of several chunks that the lone one is related to, or, if there is none, to the chunk's other
    neighbours. A chunk with no others keeps its steps. Steps to lone entities from elsewhere stay.

    Args:
        links: as `transition_matrix` returns it, entities first.
        lone: a mask of the entities that one chunk alone mentions.
    """
    split, nodes = len(lone), links.shape[0]
    shared, alone = np.flatnonzero(~lone), np.flatnonzero(lone)
    onward = links[shared][:, alone]
    onward.data /= np.asarray(onward.sum(axis=0), dtype=np.float32)[onward.indices]
    passed = (onward @ links[alone][:, split:]).tocoo()
    steps = links.tocoo()
    back = (steps.col >= split) & np.append(lone, np.zeros(nodes - split, dtype=bool))[steps.row]
    rows = np.concatenate([steps.row[~back], shared[passed.row]])
    columns = np.concatenate([steps.col[~back], passed.col + split])
    shares = np.concatenate([steps.data[~back], passed.data])
    stuck = back & (np.bincount(columns, minlength=nodes) == 0)[steps.col]
    rows = np.append(rows, steps.row[stuck])
    columns = np.append(columns, steps.col[stuck])
    shares = np.append(shares, steps.data[stuck])
    shares /= np.bincount(columns, weights=shares, minlength=nodes)[columns]
    places = (rows.astype(np.int32), columns.astype(np.int32))
    return coo_array((shares.astype(np.float32), places), shape=(nodes, nodes)).tocsr()
