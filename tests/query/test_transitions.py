import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.query.modes.ppr import pagerank
from lightrag_dagster.query.transitions import Steps, past_lone_entities
from tests.query.links import links_of


def test_a_step_leads_to_every_neighbour_alike() -> None:
    # Entities 0 and 1 are related; both stand in chunk 2.
    links = links_of([(0, 1)], [(0, 2), (1, 2)], nodes=3).toarray()
    assert links.tolist() == [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]


# Entities 0 and 1 stand in chunks 4 and 5; 2 and 3 in chunk 4 alone.
TWICE = [(0, 4), (0, 5), (1, 4), (1, 5)]


@pytest.mark.parametrize(
    ("relations", "mentions", "steps"),
    [
        ([], [*TWICE, (2, 4), (3, 4)], {0: 1 / 2, 1: 1 / 2}),
        ([(2, 1)], [*TWICE, (2, 4)], {0: 1 / 3, 1: 2 / 3}),
        ([(2, 0), (2, 1), (2, 3)], [*TWICE, (2, 4), (3, 4)], {0: 1 / 2, 1: 1 / 2}),
        ([(2, 3)], [(2, 4), (3, 4)], {2: 1 / 2, 3: 1 / 2}),
    ],
    ids=["to the other neighbours", "to what the lone one is related to", "past two lone ones", "no other neighbours"],
)
def test_a_step_from_a_chunk_passes_by_entities_of_no_other(
    relations: list[tuple[int, int]], mentions: list[tuple[int, int]], steps: dict[int, float]
) -> None:
    links = links_of(relations, mentions)
    past = past_lone_entities(links, np.array([False, False, True, True])).toarray()
    assert {int(row): past[row, 4] for row in np.flatnonzero(past[:, 4])} == pytest.approx(steps)
    # Whoever begins at a lone entity, or comes there from another entity, goes on as before.
    assert past[:, :4].tolist() == links.toarray()[:, :4].tolist()
    assert past[:, 5].tolist() == links.toarray()[:, 5].tolist()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.integers(4, 6)), max_size=12),
)
def test_every_node_with_neighbours_keeps_some(
    relations: list[tuple[int, int]], mentions: list[tuple[int, int]]
) -> None:
    links = links_of(relations, mentions, nodes=7)
    chunks_of = [len({chunk for entity, chunk in mentions if entity == one}) for one in range(4)]
    past = past_lone_entities(links, np.array(chunks_of) == 1)
    assert past.sum(axis=0) == pytest.approx(links.sum(axis=0), abs=1e-5)
    assert (past.toarray() >= 0).all()


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(10, 19)), min_size=1, max_size=40)


@given(edges, st.integers(0, 19), st.floats(0.1, 0.9))
def test_a_walk_through_a_large_graph_is_that_through_a_small_one(
    mentions: list[tuple[int, int]], start: int, damping: float
) -> None:
    elsewhere = [(node, node + 500) for node in range(20, 520)]  # so that a step touches few of all links
    links, begun = links_of([], mentions + elsewhere, nodes=1020), np.eye(1020, dtype=np.float32)[start]
    small, large = pagerank(Steps(links), begun, damping), pagerank(Steps(links, links.T.tocsr()), begun, damping)
    assert large == pytest.approx(small, abs=1e-4)


def test_only_what_has_mass_steps_through_a_large_graph() -> None:
    links = links_of([], [(0, 2), (1, 3), *((node, node + 20) for node in range(4, 24))], nodes=44)
    mass = np.array([0.5, 1e-6, *[0] * 42], dtype=np.float32)
    assert Steps(links).after(mass).tolist()[:4] == pytest.approx([0, 0, 0.5, 1e-6])
    assert Steps(links, links.T.tocsr()).after(mass).tolist()[:4] == [0, 0, 0.5, 0]


def test_all_step_if_those_with_mass_have_much_of_the_links_of_a_large_graph() -> None:
    links = links_of([], [(0, 2), (1, 3)], nodes=4)
    mass = np.array([0.5, 1e-6, 0, 0], dtype=np.float32)
    assert Steps(links, links.T.tocsr()).after(mass).tolist() == Steps(links).after(mass).tolist()
