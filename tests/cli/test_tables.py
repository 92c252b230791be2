import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from lightrag_dagster import cli
from lightrag_dagster.cli.tables import print_table

# Commands whose tables can still be cut off; each name here is one to be removed.
KNOWN = {"batch", "cache", "cypher", "evaluate", "plan", "snapshots", "status"}

NUMBERS = ["133,323–666,615", "$0.0216–0.1080", "1,160,482", "2026-11-21 21:16"]


def printed(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int = 80, **options: object) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_table(console, columns, rows, **options)  # type: ignore[arg-type]
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 12])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_number_is_broken_or_cut(columns: int, width: int) -> None:
    numbers = [NUMBERS[at % len(NUMBERS)] for at in range(columns)]
    names = [f"heading of some words {at}" for at in range(columns)]
    row = ["a source with a name that goes over several lines", *numbers]
    text = printed(["source", *names], [row], width, wrap={"source"})
    for number in set(numbers):
        assert text.count(number) == numbers.count(number)
    assert width < 80 or max(len(line) for line in text.splitlines()) <= width


def test_a_narrow_table_has_one_field_a_line() -> None:
    text = printed(["source", "tokens", "cost"], [["notes", "1,234", "$5"], ["wiki", "7", "$1"]], 18, wrap={"source"})
    assert text == "source  notes\ntokens  1,234\ncost    $5\n\nsource  wiki\ntokens  7\ncost    $1\n"


def test_numbers_are_aligned_right_and_headings_wrap() -> None:
    text = printed(["source", "input tokens"], [["notes", 12], ["wiki", 1234], ["all", None]], wrap={"source"})
    assert text.splitlines() == [
        "┏━━━━━━━━┳━━━━━━━━┓",
        "┃        ┃  input ┃",
        "┃ source ┃ tokens ┃",
        "┡━━━━━━━━╇━━━━━━━━┩",
        "│ notes  │     12 │",
        "│ wiki   │   1234 │",
        "│ all    │        │",
        "└────────┴────────┘",
    ]


def test_text_is_printed_as_it_is() -> None:
    assert "[note] :smile: [/x]" in printed(["a"], [["[note] :smile: [/x]"]], wrap={"a"})


def test_wide_characters_count_twice() -> None:
    text = printed(["名前", "数"], [["東京都千代田区" * 6, 1234567]], 40, wrap={"名前"})
    assert "1234567" in text


def test_every_command_prints_its_tables_by_the_one_printer() -> None:
    folder = Path(cli.__file__).parent
    others = {path.stem for path in folder.glob("*.py") if "from rich.table import" in path.read_text()} - {"tables"}
    assert others <= KNOWN
