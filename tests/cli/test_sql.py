from pathlib import Path

import pytest

from tests.cli.test_cli import command


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
