"""No text gives commands to the terminal that shows it."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import console, repeat_options, visible

CLEARS = "before\x1b[2J\x9b31mafter\x07"


@pytest.fixture(autouse=True)
def _nothing_to_repeat() -> Iterator[None]:
    yield
    repeat_options({})


def printed(text: str, *, quotes: bool = False) -> str:
    terminal = console(quotes=quotes)
    terminal.file = shown = io.StringIO()
    terminal.print(text, end="")
    return shown.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `lightrag-dagster run` first", "run `lightrag-dagster --home 'my home' --sources in run` first"),
        (': lightrag-dagster sql "select 1"', ": lightrag-dagster --home 'my home' --sources in sql \"select 1\""),
        ("`lightrag-dagster --debug …`", "`lightrag-dagster --home 'my home' --sources in --debug …`"),
        ("`lightrag-dagster --home demo demo`", "`lightrag-dagster --home demo demo`"),
        ("upgrade lightrag-dagster here", "upgrade lightrag-dagster here"),
    ],
)
def test_commands_to_paste_repeat_the_options_of_this_one(text: str, expected: str) -> None:
    assert printed(text) == text
    repeat_options({"--home": Path("my home"), "--sources": Path("in"), "--defs": None})
    assert printed(text) == expected
    assert printed(text, quotes=True) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLEARS, "before�[2J�31mafter�"),
        ("a\tb\nc", "a\tb\nc"),
        ("Zürich 中 [note]", "Zürich 中 [note]"),
        ("\x00\x7f", "��"),
        ("gpj\u202e.exe\u2066", "gpj�.exe�"),
    ],
)
def test_control_characters_are_seen_and_not_obeyed(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_neither_a_line_nor_a_cell_reaches_the_terminal_with_them() -> None:
    terminal = console()
    terminal.file = shown = io.StringIO()
    terminal.print(CLEARS)
    terminal.print(CLEARS, style="red")
    print_table(terminal, ["text"], [[CLEARS]])
    terminal.width = 10
    print_table(terminal, ["text"], [[CLEARS * 3]])
    assert shown.getvalue().count("before") == 6
    assert not {"\x1b", "\x9b", "\x07"} & set(shown.getvalue())


def test_advice_about_variables_names_the_file_that_wins_over_them() -> None:
    told = "set LIGHTRAG_LLM__MODEL"
    repeat_options({"--home": Path("in"), "--defs": None})
    assert printed(told) == told
    repeat_options({"--home": None, "--defs": Path("my/defs.yaml")})
    assert printed(told) == f"{told} (what my/defs.yaml sets wins over variables)"
    assert (printed(told, quotes=True), printed("set api_key_env")) == (told, "set api_key_env")


@pytest.mark.parametrize(("columns", "lines"), [(None, 5), ("0", 5), ("40", 9)])
def test_a_table_in_a_pipe_is_whole_unless_columns_says_how_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str | None, lines: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    print_table(console(), ["model", "cost"], [["a word " * 20, "$5"]], wrap={"model"})
    assert len(capsys.readouterr().out.splitlines()) == lines
