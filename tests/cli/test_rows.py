"""Names of columns in rows that are printed."""

import pytest

from lightrag_dagster.cli.rows import _distinct


@pytest.mark.parametrize(
    ("names", "distinct"),
    [
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "a_1", "a"], ["a", "a_1", "a_2"]),
        (["a", "a", "a_1", "b"], ["a", "a_2", "a_1", "b"]),
    ],
)
def test_no_column_takes_the_name_of_another(names: list[str], distinct: list[str]) -> None:
    assert _distinct(names) == distinct
