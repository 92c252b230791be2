from itertools import zip_longest

from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.query.modes import round_robin


def test_turns_are_taken_and_what_was_seen_is_skipped() -> None:
    assert round_robin([1, 2, 3], [9, 1, 8, 7]) == [1, 9, 2, 3, 8, 7]
    assert round_robin([], [5], []) == [5]
    assert round_robin() == []


@given(st.lists(st.lists(st.integers(0, 20)), max_size=4))
def test_everything_once_and_each_list_in_its_order(ranked: list[list[int]]) -> None:
    merged = round_robin(*ranked)
    assert sorted(merged) == sorted({item for items in ranked for item in items})
    for turn, items in enumerate(zip_longest(*ranked)):
        for item in items:
            # Nothing stands later than everything its turn and the turns before could put in front of it.
            assert item is None or merged.index(item) < (turn + 1) * len(ranked)


@given(st.lists(st.integers(), unique=True), st.lists(st.integers(), unique=True))
def test_without_shared_items_order_is_kept(left: list[int], right: list[int]) -> None:
    right = [item for item in right if item not in left]
    merged = round_robin(left, right)
    assert [item for item in merged if item in left] == left
    assert [item for item in merged if item in right] == right
    assert merged[:2] == [items[0] for items in (left, right) if items] + merged[:2][bool(left) + bool(right) :]
