"""No text gives commands to the terminal that shows it."""

import io

import pytest

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import console, visible

CLEARS = "before\x1b[2J\x9b31mafter\x07"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLEARS, "before�[2J�31mafter�"),
        ("a\tb\nc", "a\tb\nc"),
        ("Zürich 中 [note]", "Zürich 中 [note]"),
        ("\x00\x7f", "��"),
    ],
)
def test_control_characters_are_seen_and_not_obeyed(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_neither_a_line_nor_a_cell_reaches_the_terminal_with_them() -> None:
    terminal = console(soft_wrap=True)
    terminal.file = shown = io.StringIO()
    terminal.print(CLEARS)
    terminal.print(CLEARS, style="red")
    print_table(terminal, ["text"], [[CLEARS]])
    terminal.width = 10
    print_table(terminal, ["text"], [[CLEARS * 3]])
    assert shown.getvalue().count("before") == 6
    assert not {"\x1b", "\x9b", "\x07"} & set(shown.getvalue())
