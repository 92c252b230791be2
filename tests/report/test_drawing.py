import tracemalloc
from dataclasses import replace

import numpy as np

from lightrag_dagster.report.bounds import BOUNDS
from lightrag_dagster.report.drawing import Drawing, drawing_of
from lightrag_dagster.report.groups import Groups
from lightrag_dagster.report.layout import SETTLED, Edges, place


def drawn_of(kind: str, entities: int, listed: int, links: int = 9) -> Drawing:
    """Draw entities in groups of four, each joined to the next entity, and more strongly inside of its group."""
    of_entity = np.arange(entities) // 4
    names = [f"group {number}" for number in range(entities // 4)]
    first = np.arange(entities - 1)
    every = Edges(first, first + 1, np.where(of_entity[first] == of_entity[first + 1], 5.0, 1.0 + first / entities))
    groups = Groups(kind, of_entity, np.zeros(len(names), dtype=np.int64), names, ["all"])
    bounds = replace(BOUNDS, communities=20, links=links)
    kept = Edges(every.sources[: listed - 1], every.targets[: listed - 1], every.weights[: listed - 1])
    return drawing_of(groups, np.full(entities, 2), every, listed, kept, bounds)


def test_the_largest_communities_are_drawn_with_their_strongest_links() -> None:
    drawn = drawn_of("community", 100, 50)
    assert (drawn.kind, len(drawn.places), drawn.sizes.tolist()) == ("communities", 20, [4.0] * 20)
    assert list(zip(drawn.edges.sources.tolist(), drawn.edges.targets.tolist(), strict=True)) == [
        (at, at + 1) for at in range(18, 9, -1)
    ], "the last ones are the strongest"
    assert drawn.data["members"][0] == [0, 1, 2, 3]
    assert drawn.data["node_of"][49] == 12
    assert drawn.left_out == [
        "nodes are communities, since there are more than 50 entities",
        "entities in communities that are too small to be drawn: 20, in 5; `lightrag-dagster communities` lists them",
        "links between communities, of which the strongest are drawn: 10 more",
    ]


def test_a_large_graph_without_communities_is_drawn_by_its_first_entities() -> None:
    entities = SETTLED + 100
    drawn = drawn_of("type", entities, entities)
    assert (drawn.kind, len(drawn.places), len(drawn.data["x"])) == ("entities", 20, 20)
    assert drawn.edges.targets.tolist() == list(range(1, 20))
    assert drawn.left_out == [
        "the picture has the 20 entities with most relations alone, since no communities are known"
    ]


def test_many_groups_are_drawn_without_forces_between_all_pairs_and_none_on_another() -> None:
    pairs = 1_000
    first = np.arange(0, 2 * pairs, 2)
    tracemalloc.start()
    places = place(np.arange(2 * pairs) // 2, np.arange(pairs), Edges(first, first + 1, np.ones(pairs)), np.ones(pairs))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8_000_000, "an array of all pairs of groups has 8 MB"
    middles = (places[::2] + places[1::2]) / 2
    near = middles[300:, None] - middles[None]
    distances = np.hypot(near[..., 0], near[..., 1])
    distances[np.arange(pairs - 300), np.arange(300, pairs)] = np.inf
    assert distances.min() > np.hypot(*(places[0] - places[1])), "further apart than the two of a pair"
