from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.query.hits import Found
from lightrag_dagster.query.modes.ppr import WALK, Walked, pagerank, start_mass, strongest_path
from lightrag_dagster.query.transitions import Steps
from lightrag_dagster.settings import load_settings
from tests.query.links import links_of as graph

NODES = 6


def test_mass_goes_along_relations_to_chunks_that_the_start_does_not_touch() -> None:
    # Chunk 4 mentions entity 0, chunk 5 entity 2; entities 0 – 1 – 2 are a chain and 3 stands alone.
    links = graph([(0, 1), (1, 2)], [(0, 4), (2, 5)])
    start = np.array([1, 0, 0, 0, 0, 0], dtype=np.float32)
    mass = pagerank(Steps(links), start, 0.5)
    assert mass[4] > mass[5] > 0
    assert mass[3] == 0


def test_a_walk_that_leads_nowhere_begins_anew() -> None:
    start = np.array([0, 0, 0, 0.5, 0.5, 0], dtype=np.float32)
    assert pagerank(Steps(graph([], [])), start, 0.5).tolist() == start.tolist()


pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5)), max_size=8)


@given(pairs, pairs, st.lists(st.floats(0, 1), min_size=NODES, max_size=NODES), st.floats(0.1, 0.8))
def test_mass_is_what_the_linear_equations_say(
    relations: list[tuple[int, int]], mentions: list[tuple[int, int]], weights: list[float], damping: float
) -> None:
    assume(sum(weights) >= 0.01)
    start = (np.array(weights) / sum(weights)).astype(np.float32)
    links = graph(relations, mentions)
    dense = links.toarray().astype(float)
    # What is lost at nodes without neighbours goes back to the start.
    dense += np.outer(start, 1 - dense.sum(axis=0))
    wanted = np.linalg.solve(np.eye(NODES) - damping * dense, (1 - damping) * start)
    mass = pagerank(Steps(links), start, damping)
    assert mass.sum() == pytest.approx(1, abs=1e-3)
    assert mass == pytest.approx(wanted, abs=2e-3)


def test_the_walk_starts_at_facts_and_at_chunks_by_how_near_they_are(published_home: Path) -> None:
    with KnowledgeBase.open(published_home, settings=load_settings(home=published_home)) as knowledge:
        links = knowledge.snapshot.graph
    entities = len(links.entities.ids)
    start = start_mass(links, Found({}, {0: 0.5}, {0: 0.9, 1: 0.8, 2: 0.7}), WALK)
    assert start[:entities].nonzero()[0].tolist() == sorted(links.endpoints[0].tolist())
    spread = links.entity_chunks.offsets[1:] - links.entity_chunks.offsets[:-1]
    rows = [int(spread.argmin()), int(spread.argmax())]
    rare, common = start_mass(links, Found(dict.fromkeys(rows, 0.5)), WALK)[rows]
    assert spread.max() > spread.min() == 1
    assert rare / common == pytest.approx(spread.max())
    assert start[:entities].sum() == pytest.approx(1 - WALK.chunk_share)
    # The least near one has next to nothing; never less.
    assert start[entities : entities + 3] == pytest.approx(np.array([2, 1, 0]) / 3 * WALK.chunk_share, abs=1e-6)
    assert start.min() == 0 < start[entities + 2]
    assert start_mass(links, Found({}, {}, {1: 0.8}), WALK).tolist() == np.eye(len(start))[entities + 1].tolist()


@pytest.mark.long
def test_the_mode_finds_chunks_without_asking_for_keywords(published_home: Path) -> None:
    with KnowledgeBase.open(published_home, settings=load_settings(home=published_home)) as knowledge:
        found = knowledge.retrieve("Who built the gauge at Halden Weir?", mode="ppr", explain=True)
        assert not found.keywords.low_level
        assert "Orrin Instruments built the gauge" in found.chunks[0].content
        assert {entity.name for entity in found.entities} >= {"Halden Weir", "Orrin Instruments"}
        scores = [chunk.score or 0.0 for chunk in found.chunks]
        assert all(scores)
        assert scores == sorted(scores, reverse=True)
        (chunks,) = [step.notes["items"] for step in found.steps if step.name == "chunks"]
        assert [item["paths"][0][-1] for item in chunks] == [f"{one.source}/{one.path}" for one in found.chunks]
        assert any(len(item["paths"][0]) > 1 for item in chunks)
        office = knowledge.retrieve(
            "Who built the gauge at Halden Weir?", mode="ppr", filters=Filters(sources=("office",))
        )
        assert {chunk.source for chunk in office.chunks} <= {"office"}


def walk(edges: list[tuple[int, int]], start: dict[int, float], nodes: int, damping: float) -> tuple[Steps, Walked]:
    """Walk over undirected edges."""
    links = np.zeros((nodes, nodes), dtype=np.float32)
    for one, other in edges:
        links[one, other] = links[other, one] = 1
    links /= np.maximum(links.sum(axis=0), 1)
    begin = np.zeros(nodes, dtype=np.float32)
    for node, share in start.items():
        begin[node] = share
    transitions = Steps(csr_array(links))
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
