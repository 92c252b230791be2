"""The graph as the matrix of a random walk over entities and chunks."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array


def walk(
    endpoints: npt.NDArray[np.int32], owners: npt.NDArray[np.int64], mentioned: npt.NDArray[np.int64], nodes: int
) -> csr_array:
    """Return transitions, nodes × nodes: a column holds where a step from its node leads, and sums to 1 or 0.

    Args:
        endpoints: the two entities that each relation joins, as nodes.
        owners: the entity of each mention, as a node.
        mentioned: the chunk of each mention, as a node.
        nodes: entities and chunks.
    """
    # Four bytes an index rather than eight: a step takes the time of reading them.
    one = np.concatenate([endpoints[:, 0], owners]).astype(np.int32)
    other = np.concatenate([endpoints[:, 1], mentioned]).astype(np.int32)
    ones = np.ones(2 * len(one), dtype=np.float32)
    places = (np.concatenate([one, other]), np.concatenate([other, one]))
    links = coo_array((ones, places), shape=(nodes, nodes)).tocsr()
    out = np.asarray(links.sum(axis=0), dtype=np.float32)
    links.data /= out[links.indices]
    return links
