"""Distances and paths are those of all simple paths, compared one by one; of equal ones the first by ids."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.walking import costs_of, hops_from, lengths_from, strengths_of, walk
from tests.query.tables import chunk_file, entities, graph_of, relations

NAMES = "ABCDEFG"
Weights = dict[tuple[str, str], float]

PAIRS = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map(lambda pair: tuple(sorted(pair)))
GRAPHS = st.dictionaries(
    PAIRS.filter(lambda pair: pair[0] != pair[1]), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 10.0]), max_size=14
)


def graph_with(folder: Path, weights: Weights) -> Adjacency:
    chunks = chunk_file(folder, "notes", [{"chunk_id": "chunk-a", "path": "a.md"}])
    named = entities([{"name": name, "chunk_ids": ["chunk-a"]} for name in NAMES])
    joined = relations(
        [{"src": src, "tgt": tgt, "weight": weight, "chunk_ids": ["chunk-a"]} for (src, tgt), weight in weights.items()]
    )
    return graph_of(folder, named, joined, [chunks])


def simple_paths(edges: dict[tuple[int, int], float], here: int, end: int, passed: tuple[int, ...]) -> list[list[int]]:
    """Return every path without a repeated entity."""
    if here == end:
        return [[*passed, here]]
    following = sorted({b if a == here else a for a, b in edges if here in (a, b)} - {*passed, here})
    return [path for one in following for path in simple_paths(edges, one, end, (*passed, here))]


@given(GRAPHS, st.integers(0, len(NAMES) - 1), st.integers(0, len(NAMES) - 1))
def test_distances_and_paths(weights: Weights, start: int, end: int) -> None:
    with TemporaryDirectory() as folder:
        graph = graph_with(Path(folder), weights)
        costs = costs_of(graph).tolist()
        edges = {(min(ends), max(ends)): cost for ends, cost in zip(graph.endpoints.tolist(), costs, strict=True)}

        def length(path: list[int]) -> float:
            return float(sum(edges[min(ends), max(ends)] for ends in pairwise(path)))

        every = simple_paths(edges, start, end, ())
        hops, lengths = hops_from(graph, end), lengths_from(strengths_of(graph), end)
        assert hops[start] == min((len(path) - 1 for path in every), default=np.inf)
        assert lengths[start] == pytest.approx(min(map(length, every), default=np.inf))
        if np.isfinite(hops[start]):
            shortest = [path for path in every if len(path) - 1 == hops[start]]
            assert [start, *(row for _, row in walk(graph, start, hops, None))] == min(shortest)
        if np.isfinite(lengths[start]):
            strongest = [path for path in every if length(path) == pytest.approx(lengths[start])]
            steps = walk(graph, start, lengths, costs_of(graph))
            assert [start, *(row for _, row in steps)] == min(strongest)
            assert sum(costs_of(graph)[[over for over, _ in steps]]) == pytest.approx(lengths[start])
        near = hops_from(graph, end, 2)
        assert np.array_equal(np.isfinite(near), hops <= 2)


def test_a_graph_without_relations(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, {})
    assert hops_from(graph, 2).tolist() == [np.inf, np.inf, 0, *[np.inf] * 4]
    assert lengths_from(strengths_of(graph), 2).tolist() == hops_from(graph, 2).tolist()
    assert walk(graph, 2, hops_from(graph, 2), None) == []
