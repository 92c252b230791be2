from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.query.budgets import fitting


@given(st.lists(st.text(max_size=12)), st.integers(-5, 60))
def test_the_longest_prefix_of_whole_items_that_fits(items: list[str], budget: int) -> None:
    kept = list(fitting(items, str, len, budget))
    assert kept == items[: len(kept)]
    lengths = [len(item) + 1 for item in items]
    assert sum(lengths[: len(kept)]) <= max(budget, 0)
    if len(kept) < len(items):
        assert sum(lengths[: len(kept) + 1]) > budget


def test_nothing_is_read_after_the_first_that_does_not_fit() -> None:
    read = []

    def items() -> Iterator[str]:
        for item in ("aa", "bbbbbb", "c"):
            read.append(item)
            yield item

    assert list(fitting(items(), str, len, 5)) == ["aa"]
    assert read == ["aa", "bbbbbb"]
