"""Small graphs to walk on."""

import numpy as np
from scipy.sparse import csr_array

from lightrag_dagster.query.transitions import transition_matrix


def links_of(relations: list[tuple[int, int]], mentions: list[tuple[int, int]], nodes: int = 6) -> csr_array:
    """Return the steps between entities that are related, and entities and the chunks that mention them."""
    ends = np.array(relations, dtype=np.int32).reshape(-1, 2)
    owners, mentioned = np.array(mentions, dtype=np.int64).reshape(-1, 2).T
    return transition_matrix(ends, owners, mentioned.astype(np.int32), nodes)
