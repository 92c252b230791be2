import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.text.tokens import Measured
from lightrag_dagster.stages.chunking.boundaries import listed
from lightrag_dagster.stages.chunking.chunker import Cut
from lightrag_dagster.stages.chunking.splitter import Divider, overlapping, pack


@pytest.mark.parametrize(
    ("positions", "hashes", "chosen"),
    [
        ([0, 4, 10], [5], []),  # it fits
        ([0, 6, 12], [5], [1]),
        ([0, 4, 8, 12], [9, 5], [1]),  # evenly: what is too near an end is no minimum
        ([0, 5, 10, 15, 20, 25, 30], [9, 9, 1, 9, 9], [1, 3, 4]),  # the minimum in the middle, then evenly around it
        ([0, 5, 10, 15, 20, 25, 30], [9, 1, 9, 9, 9], [2, 4]),
        ([0, 1, 10, 20], [0, 9], [2]),
        ([0, 5, 10, 15, 20], [7, 7, 7], [1, 2]),  # of equal hashes, the first
        ([0, 5, 10, 15], [1, 9], [1]),  # half a size from the start is far enough for a minimum
        ([0, 5, 10, 15], [9, 1], [2]),  # and from the end
        ([0, 5, 5, 15, 16, 21], [2, 2, 1, 3], [2, 3]),  # what is a size away is compared
        ([0, 5, 10, 15, 20, 25, 29], [2, 2, 3, 2, 3], [1, 3, 4]),
        ([0, 5, 8, 13, 17, 22], [1, 2, 2, 2], [1, 3]),
        ([0, 0, 10, 11], [1, 3], [2]),  # a part may have the whole size
        ([0, 5, 10, 10, 20, 22, 27], [3, 2, 2, 1, 2], [2, 4]),  # of boundaries at one place, the first
    ],
)
def test_pack(positions: list[int], hashes: list[int], chosen: list[int]) -> None:
    assert pack(np.array(positions), np.array(hashes, np.uint64), 10) == chosen


@pytest.mark.parametrize(
    ("overlap", "starts", "second"),
    [
        (0, range(40), (10, 20, 10)),
        (3, range(40), (7, 20, 13)),
        (3, (2, 8, 9), (8, 20, 12)),  # the first boundary of those there
        (3, (2, 6), (10, 20, 10)),
        (10, range(40), (1, 20, 19)),  # never where the chunk before begins
        (15, range(40), (1, 20, 19)),
    ],
)
def test_a_chunk_begins_within_the_one_before(
    overlap: int, starts: Sequence[int], second: tuple[int, int, int]
) -> None:
    a_token_a_character = Measured(np.arange(40))
    moved = overlapping(
        [Cut(0, 10, 10), Cut(10, 20, 10)],
        a_token_a_character,
        overlap,
        lambda start, end: [one for one in starts if start <= one < end],
    )
    assert moved == [Cut(0, 10, 10), Cut(*second)]


def test_a_run_of_exactly_the_size_is_not_cut_in_its_middle() -> None:
    a_token_a_character, starts = Measured(np.arange(30)), listed([5, 10])
    assert Divider("x" * 30, a_token_a_character, 10, [starts]).divide(0, 30) == [(0, 10), (10, 20), (20, 30)]


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 20)), min_size=1, max_size=200))
def test_what_is_packed_fits_and_is_whole(pieces: list[tuple[int, int]]) -> None:
    positions = np.cumsum([0, *(tokens for tokens, _ in pieces)])
    chosen = pack(positions, np.array([one for _, one in pieces[1:]], np.uint64), 10)
    edges = [0, *chosen, len(positions) - 1]
    assert all(left < right for left, right in pairwise(edges))
    assert all(positions[right] - positions[left] <= 10 for left, right in pairwise(edges))


def test_chunks_are_three_quarters_full_and_an_insertion_moves_few() -> None:
    choice = random.Random(1)
    pieces = [(choice.randint(5, 20), choice.getrandbits(60)) for _ in range(8_000)]

    def cut(given: list[tuple[int, int]]) -> set[tuple[tuple[int, int], ...]]:
        positions = np.cumsum([0, *(tokens for tokens, _ in given)])
        edges = [0, *pack(positions, np.array([one for _, one in given[1:]], np.uint64), 100), len(given)]
        return {tuple(given[left:right]) for left, right in pairwise(edges)}

    before = cut(pieces)
    assert np.mean([sum(tokens for tokens, _ in chunk) for chunk in before]) > 72
    for place in range(500, 8_000, 1_500):
        assert len(before - cut([*pieces[:place], (12, 345), *pieces[place:]])) <= 9
