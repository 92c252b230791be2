from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.hits import Hits
from lightrag_dagster.query.linking import Link
from lightrag_dagster.query.modes.seeds import (
    agreement,
    direct_scores,
    largest,
    order_named,
    peaks,
    seeds_of_names,
    seeds_of_relations,
    share,
)
from tests.query.tables import chunk_file, entities, graph_of, relations

NONE = np.zeros(0, dtype=np.float32)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("scores", "above"),
    [
        ((), ()),
        ((0.5,), (1,)),
        ((0.5, 0.5), (1, 1)),
        ((1, 3), (0, 1)),
        # The first stands out more among three like each other than among scores that fall evenly.
        ((9, 1, 1, 1), (1.73, 0, 0, 0)),
        ((4, 3, 2, 1), (1.34, 0.45, 0, 0)),
    ],
)
def test_peaks(scores: tuple[float, ...], above: tuple[float, ...]) -> None:
    assert peaks(array(*scores)).tolist() == pytest.approx(above, abs=0.01)


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=20), st.floats(0.1, 100), st.floats(-10, 10))
def test_peaks_do_not_depend_on_the_scale(scores: list[float], factor: float, level: float) -> None:
    plain = np.array(scores, dtype=np.float64)
    if plain.std() > 1e-3:
        assert peaks(array(*(plain * factor + level))).tolist() == pytest.approx(
            peaks(array(*scores)).tolist(), abs=0.05
        )


def test_names_count_by_probability_rarity_and_specificity() -> None:
    links = [
        Link("rare", np.array([0], dtype=np.int32), 1.0, 6.0),
        Link("often a word", np.array([1], dtype=np.int32), 0.5, 6.0),
        Link("in three chunks", np.array([2], dtype=np.int32), 1.0, 6.0),
        Link("of two", np.array([3, 4], dtype=np.int32), 1.0, 6.0),
        Link("of many", np.array([5], dtype=np.int32), 1.0, 1.5),
    ]
    mass = seeds_of_names(links, np.array([1, 1, 3, 1, 1, 1, 1]))
    assert (mass / mass[0]).tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 2, 1 / 2, 1 / 4, 0])
    assert mass.sum() == pytest.approx(1)
    assert seeds_of_names([], np.array([1, 1])).tolist() == [0, 0]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Adjacency:
    """A chain a – b – c – d; a is in two chunks."""
    folder: Path = tmp_path_factory.mktemp("graph")
    chunks = {"a": ["chunk-0", "chunk-1"], "b": ["chunk-1"], "c": ["chunk-2"], "d": ["chunk-3"]}
    return graph_of(
        folder,
        entities([{"name": name, "chunk_ids": own} for name, own in chunks.items()]),
        relations([{"src": src, "tgt": tgt, "chunk_ids": ["chunk-1"]} for src, tgt in ("ab", "bc", "cd")]),
        [chunk_file(folder, "s", [{"chunk_id": f"chunk-{n}", "path": f"{n}.md"} for n in range(4)])],
    )


def test_facts_count_by_the_square_of_their_peak(graph: Adjacency) -> None:
    spread = np.diff(graph.entity_chunks.offsets)
    mass = seeds_of_relations(graph, {0: 0.9, 1: 0.5, 2: 0.1}, spread)
    ends = graph.endpoints[0]
    assert mass[ends].tolist() == pytest.approx((1 / spread[ends] / (1 / spread[ends]).sum()).tolist())
    assert mass.sum() == pytest.approx(1)
    assert seeds_of_relations(graph, {}, spread).tolist() == [0] * 4


def test_chunks_count_by_both_rankings() -> None:
    hits: Hits = {2: 0.9, 0: 0.1}
    words, none = array(0, 0, 5, 1), array(0, 0, 0, 0)
    both = direct_scores(hits, words, (1, 2), 4)
    dense, lexical = direct_scores(hits, none, (1, 1), 4), direct_scores({}, words, (1, 1), 4)
    assert both.tolist() == pytest.approx((dense + 2 * lexical).tolist())
    assert both.argmax() == 2
    assert dense.tolist() == pytest.approx([0, 0, 1, 0])
    assert lexical[:2].tolist() == [0, 0]
    assert direct_scores({}, none, (1, 1), 4).tolist() == [0] * 4
    assert direct_scores({}, NONE, (1, 1), 4).tolist() == []


def test_the_largest_come_first_and_none_without_mass() -> None:
    assert largest(array(0.2, 0, 0.5, 0.2), 3) == pytest.approx({2: 0.5, 0: 0.2, 3: 0.2})
    assert list(largest(array(0.2, 0.1, 0.5, 0.2), 2)) == [2, 0]
    assert largest(NONE, 3) == {}
    assert share(array(0, 0)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("nearest", "by_words", "expected"),
    [
        ([0, 1, 2, 3], [3, 1, 2, 0.5], 1.0),
        ([4, 5, 0, 1], [3, 1, 2, 0.5], 0.5),
        ([4, 5], [3, 1, 2, 0.5], 0.0),
        ([4, 5], [0, 0, 0, 0], 1.0),
        ([], [3, 1, 2, 0.5], 1.0),
    ],
)
def test_agreement_is_the_share_of_the_nearest_that_have_the_words(
    nearest: list[int], by_words: list[float], expected: float
) -> None:
    assert agreement(dict.fromkeys(nearest, 0.5), array(*by_words, 0, 0)) == expected


def test_agreement_compares_ten_with_thirty() -> None:
    lexical = array(*range(40, 0, -1))
    assert agreement(dict.fromkeys([*range(25, 35), *range(5)], 0.5), lexical) == 0.5


@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)), min_size=1, max_size=20),
    st.data(),
)
def test_named_chunks_change_places_among_themselves(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    mass, similarity = array(*(one for one, _ in rows)), array(*(one for _, one in rows))
    named = np.array(sorted(data.draw(st.sets(st.integers(0, len(rows) - 1)))), dtype=np.int32)
    weight = data.draw(st.floats(0, 1))
    ordered = order_named(mass, similarity, named, weight)
    others = np.setdiff1d(np.arange(len(rows)), named)
    assert ordered[others].tolist() == mass[others].tolist()
    assert sorted(ordered[named].tolist()) == sorted(mass[named].tolist())


@pytest.mark.parametrize(("weight", "first"), [(0.0, 0), (1.0, 3), (0.2, 0), (0.8, 3)])
def test_the_named_chunk_that_resembles_the_question_leads_as_far_as_it_counts(weight: float, first: int) -> None:
    mass, similarity = array(0.5, 0.9, 0.1, 0.3), array(0.1, 0.0, 0.2, 0.9)
    ordered = order_named(mass, similarity, np.array([0, 2, 3], dtype=np.int32), weight)
    assert int(np.argmax(ordered[[0, 2, 3]])) == [0, 2, 3].index(first)
    assert ordered[1] == mass[1]


def test_a_named_chunk_without_mass_gets_none() -> None:
    mass, similarity = array(0.0, 0.5, 0.2), array(0.9, 0.0, 0.0)
    assert order_named(mass, similarity, np.arange(3, dtype=np.int32), 1.0).tolist() == mass.tolist()
