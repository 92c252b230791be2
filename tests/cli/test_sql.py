from pathlib import Path

import pytest

from tests.cli.test_cli import command
from tests.storage.corpus import RIVER, home_of


@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_text_is_printed_as_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    text = "see [note], [/etc/hosts], 1:100:3"
    code, printed, errors = command(capfd, monkeypatch, "sql", f"select '{text}' as said", "--format", output)
    assert (code, errors) == (0, "")
    assert text in printed


def test_an_error_quotes_text_as_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    assert "'1:100:3[/x]'" in command(capfd, monkeypatch, "query", "Who?", "--source", "1:100:3[/x]")[2]


@pytest.mark.parametrize(
    ("output", "expected"),
    [("csv", "a,a,b\n1,2,3\n"), ("json", '[{"a": 1, "a_1": 2, "b": 3}]\n'), ("table", "│ 1 │ 2 │ 3 │")],
)
def test_columns_of_one_name_stay_apart(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    statement = "select 1 as a, 2 as a, 3 as b"
    assert expected in command(capfd, monkeypatch, "sql", statement, "--format", output)[1]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("csv", "a\n1\n\nb\nx\n"),
        ("json", '[{"a": 1}]\n[{"b": "x"}]\n'),
        ("table", "┏━━━┓\n┃ a ┃\n┡━━━┩\n│ 1 │\n└───┘\n\n┏━━━┓\n┃ b ┃\n┡━━━┩\n│ x │\n└───┘\n"),
    ],
)
def test_every_statement_prints_its_rows(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    statements = "select 1 as a; set variable x = 'x'; select getvariable('x') as b"
    assert command(capfd, monkeypatch, "sql", statements, "--format", output) == (0, expected, "")


def test_other_files_need_an_option(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    (tmp_path / "mine.csv").write_text("a\n1\n")
    statement = f"select a from '{tmp_path}/mine.csv'"
    code, printed, errors = command(capfd, monkeypatch, "sql", statement)
    assert (code, printed) == (2, "")
    assert "--allow-external" in errors
    assert command(capfd, monkeypatch, "sql", statement, "--format", "csv", "--allow-external")[:2] == (0, "a\n1\n")


def test_a_source_that_is_held_back_can_be_read(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(home_of(tmp_path, river=RIVER).root))
    statement = "select path, status from raw_documents order by path"
    code, printed, errors = command(capfd, monkeypatch, "sql", statement, "--format", "csv")
    assert (code, printed.splitlines()[:2]) == (0, ["path,status", f"{sorted(RIVER)[0]},processed"])
    assert errors.startswith("Nothing is published yet")
