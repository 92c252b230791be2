import numpy as np
import pytest
from scipy.sparse import csr_array

from lightrag_dagster.query.modes.ppr import pagerank
from lightrag_dagster.query.modes.walked_paths import Walked, strongest_path


def walk(edges: list[tuple[int, int]], start: dict[int, float], nodes: int, damping: float) -> tuple[csr_array, Walked]:
    """Walk over undirected edges."""
    links = np.zeros((nodes, nodes), dtype=np.float32)
    for one, other in edges:
        links[one, other] = links[other, one] = 1
    links /= np.maximum(links.sum(axis=0), 1)
    begin = np.zeros(nodes, dtype=np.float32)
    for node, share in start.items():
        begin[node] = share
    transitions = csr_array(links)
    return transitions, Walked((1 - damping) * begin, pagerank(transitions, begin, damping), damping)


@pytest.mark.parametrize(
    ("start", "node", "path"),
    [
        ({0: 1.0}, 3, [0, 1, 2, 3]),
        ({0: 1.0}, 0, [0]),
        ({0: 0.1, 4: 0.9}, 3, [4, 3]),
        ({3: 1.0}, 3, [3]),
        ({0: 1.0}, 5, [5]),
    ],
)
def test_a_path_leads_from_where_the_mass_began(start: dict[int, float], node: int, path: list[int]) -> None:
    transitions, walked = walk([(0, 1), (1, 2), (2, 3), (3, 4)], start, 6, 0.7)
    assert strongest_path(transitions, walked, node) == path


def test_a_path_ends_and_has_no_node_twice() -> None:
    ring = [(node, (node + 1) % 40) for node in range(40)]
    transitions, walked = walk(ring, {0: 1.0}, 40, 0.99)
    path = strongest_path(transitions, walked, 20)
    assert len(path) == len(set(path)) == 6
    assert path[-1] == 20
