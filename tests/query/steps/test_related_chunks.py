import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.indexes.arrays import Lists, offsets_of
from lightrag_dagster.query.steps.related_chunks import _owned, assign, pick, weighted_polling

OWNERS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=8)


@pytest.mark.parametrize(
    ("owners", "taken", "expected"),
    [
        ([[1, 2], [2, 3]], [], [[2, 1], [3]]),
        ([[1, 2, 3], [3], [3, 2]], [], [[3, 2, 1], [], []]),
        ([[1, 2], [2, 3]], [2], [[1], [3]]),
        ([], [], []),
    ],
    ids=["first owner, most cited first", "owners left with nothing stay", "taken", "no owners"],
)
def test_assign(owners: list[list[int]], taken: list[int], expected: list[list[int]]) -> None:
    assert assign(owners, taken) == expected


@given(OWNERS, st.sets(st.integers(0, 30)))
def test_assign_gives_every_free_chunk_once(owners: list[list[int]], taken: set[int]) -> None:
    assigned = assign(owners, taken)
    given_out = [chunk for chunks in assigned for chunk in chunks]
    assert len(assigned) == len(owners)
    assert sorted(given_out) == sorted({chunk for chunks in owners for chunk in chunks} - taken)
    assert all(set(own) <= set(chunks) for own, chunks in zip(assigned, owners, strict=True))


def test_the_first_200_chunks_of_an_owner_are_considered() -> None:
    lengths = np.array([201, 200, 0, 3])
    lists = Lists(offsets_of(lengths), np.arange(lengths.sum(), dtype=np.int32))
    owned = _owned(lists, range(4))
    assert owned == {0: [*range(200)], 1: [*range(201, 401)], 3: [401, 402, 403]}


def test_the_most_similar_chunks_are_picked_and_ties_go_by_row() -> None:
    similarity = {1: 0.1, 2: 0.9, 3: 0.5, 4: 0.5, 5: 0.2}
    assert pick([[1, 4], [5, 2, 3]], 3, similarity) == [2, 3, 4]
    assert pick([[1, 4, 2]], 5, similarity) == [2, 4]


def test_one_chunk_without_a_vector_leaves_it_to_the_owners() -> None:
    owned = [[1, 4], [5, 2]]
    assert pick(owned, 1, {1: 0.1, 2: 0.9, 4: 0.5}) == weighted_polling(owned, 1) == [1, 5]


def test_half_a_chunk_for_each_owner_is_none_for_one() -> None:
    assert pick([[1, 4]], 1, {1: 0.1, 4: 0.5}) == [1]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([9, 9, 9], [5, 3, 1]),
        ([9], [5]),
        ([9, 9], [5, 1]),
        ([2, 9, 9], [2, 6, 1]),
        ([9, 0, 0], [9, 0, 0]),
        ([1, 1, 1], [1, 1, 1]),
        ([], []),
    ],
    ids=["linear", "one owner", "two", "leftovers go up first", "all of it to the first", "few", "none"],
)
def test_quotas(lengths: list[int], expected: list[int]) -> None:
    owned = [[100 * owner + chunk for chunk in range(length)] for owner, length in enumerate(lengths)]
    chosen = weighted_polling(owned, 5)
    assert [sum(chunk in own for chunk in chosen) for own in owned] == expected


@given(OWNERS.map(assign), st.integers(1, 6))
def test_quotas_are_used_up_or_everything_is_chosen(owned: list[list[int]], number: int) -> None:
    chosen = weighted_polling(owned, number)
    available = sum(map(len, owned))
    assert len(chosen) == len(set(chosen)) <= available
    assert len(chosen) == available or len(chosen) >= len(owned)
