import pytest

from lightrag_dagster.core.text.tables import cell, markdown_table


def test_a_table_has_a_heading_a_rule_and_its_rows() -> None:
    table = markdown_table(["mode", "recall"], [["local", "0.5 [0.4, 0.6]"], ["**all**", ""]])
    assert table.split("\n") == [
        "| mode | recall |",
        "| --- | --- |",
        "| local | 0.5 [0.4, 0.6] |",
        "| **all** |  |",
    ]
    assert markdown_table(["a", "b", "c"], []) == "| a | b | c |\n| --- | --- | --- |"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0, "0"),
        ("a\n b", "a b"),
        ("a|b", r"a\|b"),
        ("12345678", "12345678"),
        ("123456789", "1234567…"),
        ("|" * 9, r"\|" * 7 + "…"),
    ],
)
def test_a_cell_shows_a_value_on_one_line(value: object, shown: str) -> None:
    assert cell(value, 8) == shown


def test_a_cell_is_whole_unless_a_length_is_given() -> None:
    assert cell("x" * 5000) == "x" * 5000
