import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.text.boundaries import _weights, content_defined


def ways(count: int, size: int, overlap: int, tolerance: int, first: int = 0) -> list[list[int]]:
    """Return the ends of all ways to cut so many tokens into windows."""
    if count - first <= size:
        return [[count]]
    found = []
    for last in range(first + size - tolerance, min(first + size + 1, count)):
        found += [[last, *rest] for rest in ways(count, size, overlap, tolerance, last - overlap)]
    return found


@given(st.lists(st.integers(0, 9), min_size=1, max_size=16), st.integers(2, 9), st.data())
def test_no_way_to_cut_has_better_ends(given_tokens: list[int], size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 2))
    tolerance = data.draw(st.integers(1, size - overlap - 1))
    tokens = np.array(given_tokens, np.uint32)
    first, last = content_defined(tokens, size, overlap, tolerance)
    assert first.tolist() == [0, *(last[:-1] - overlap).tolist()]
    weights = _weights(tokens, tolerance)
    sums = {tuple(way): sum(weights[end] for end in way[:-1]) for way in ways(len(tokens), size, overlap, tolerance)}
    assert sums[tuple(last.tolist())] == pytest.approx(max(sums.values()))


def test_without_tokens_there_is_no_window() -> None:
    first, last = content_defined(np.array([], np.uint32), 10, 2, 3)
    assert (first.tolist(), last.tolist()) == ([], [])


@pytest.mark.long
def test_an_edit_anywhere_moves_few_ends() -> None:
    tokens = np.random.default_rng(1).integers(0, 50_000, 12_000).astype(np.uint32)
    first, last = content_defined(tokens, 120, 10, 40)
    before = {tokens[start:end].tobytes() for start, end in zip(first, last, strict=True)}
    for place in range(50, 12_000, 97):
        edited = np.insert(tokens, place, [7, 8, 9])
        first, last = content_defined(edited, 120, 10, 40)
        after = {edited[start:end].tobytes() for start, end in zip(first, last, strict=True)}
        assert len(before - after) <= 12
