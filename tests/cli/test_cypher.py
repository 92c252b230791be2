import json
from pathlib import Path

import pytest

from tests.cli.test_cli import command

NAMES = "MATCH (e:Entity) WHERE e.name STARTS WITH 'Halden' OR e.name = 'Bergen' RETURN e.name AS name ORDER BY name"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("csv", "name\nBergen\nHalden Weir\n"),
        ("json", '[{"name": "Bergen"}, {"name": "Halden Weir"}]\n'),
        ("table", "│ Halden Weir │"),
    ],
)
def test_rows_are_printed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, printed, errors = command(capfd, monkeypatch, "cypher", NAMES, "--format", output)
    assert (code, errors) == (0, "")
    assert expected == printed if output != "table" else expected in printed


def test_a_limit_is_said_beside_the_rows(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, printed, errors = command(capfd, monkeypatch, "cypher", NAMES, "--format", "json", "--limit", "1")
    assert (code, json.loads(printed)) == (0, [{"name": "Bergen"}])
    assert errors == "There are more than 1 rows; --limit says how many are printed.\n"


def test_keys_of_maps_are_texts_in_json(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    query = "RETURN map([7], ['a']) AS numbers"
    code, printed, errors = command(capfd, monkeypatch, "cypher", query, "--format", "json")
    assert (code, errors) == (0, "")
    assert json.loads(printed) == [{"numbers": {"7": "a"}}]


@pytest.mark.parametrize(("output", "expected"), [("csv", "name,type\n"), ("json", "[]\n")])
def test_no_rows_have_columns(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    query = "MATCH (e:Entity {name: 'nobody'}) RETURN e.name AS name, e.type AS type"
    assert command(capfd, monkeypatch, "cypher", query, "--format", output) == (0, expected, "")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("MATCH (e:Nowhere) RETURN e", "the Cypher cannot be run"),
        ("RETURN '\udcff'", "the Cypher holds half a character, '\\udcff' at position 8, which no text in UTF-8 has"),
        ("LOAD FROM '/etc/passwd' (file_format='csv') RETURN *", "LOAD is not allowed here"),
        ("MATCH (e:Entity) SET e.name = 'x'", "SET is not allowed here"),
        ("MATCH (e:Entity) WITH e LIMIT 1LOAD FROM '/etc/passwd' RETURN *", "LOAD is not allowed here"),
        ("MATCH (e:Entity {name: $name}) RETURN e", "the parameter $name of the Cypher is not given"),
        ("WITH 1 AS x WHERE x=1 RETURN x", "the Cypher ended Kùzu's process (SIGSEGV)"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, query: str, reason: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, printed, errors = command(capfd, monkeypatch, "cypher", query)
    assert (code, printed) == (2, "")
    assert errors.startswith("error: ")
    assert reason in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(("output", "expected"), [("table", "no rows\n"), ("json", "[]\n")])
def test_no_rows_are_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    query = "MATCH (e:Entity) WHERE e.name = 'Nobody' RETURN e.name AS name"
    assert command(capfd, monkeypatch, "cypher", query, "--format", output)[1].endswith(expected)


def test_formulas_are_text_for_a_spreadsheet_on_request(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    asked = ("cypher", "RETURN '=1+1' AS a, -1 AS b", "--format", "escaped-csv")
    assert command(capfd, monkeypatch, *asked) == (0, "a,b\n'=1+1,-1\n", "")
