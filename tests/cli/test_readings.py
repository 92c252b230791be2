"""`readings check` and `readings draft`."""

from pathlib import Path

import pytest

from lightrag_dagster.stages.facts.passes import load_passes
from tests.cli.test_cli import command

SCHEMA = """types: [company, person]
relations:
  led by: {from: company, to: person, single: true}
  revenue: {from: [company, person], value: number, unit: EUR, dated: true}
"""
SOURCE = """readings: readings
named_sources:
  prices:
    uri: prices.csv
    rows: {facts: [{subject: part, relation: price, value: price, single: true}]}
"""


def test_each_pass_is_shown_with_its_relations(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("readings").mkdir()
    Path("readings/staff.yaml").write_text("sources: [contracts]\n" + SCHEMA)
    Path("lightrag.yaml").write_text(SOURCE)
    code, output, errors = command(capfd, monkeypatch, "readings", "check")
    assert (code, errors) == (0, "")
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if "│" in line]
    assert lines == [
        ["led by", "company", "person", "", "yes"],
        ["revenue", "company or person", "number in EUR", "yes", ""],
        ["price", "thing", "number", "", "yes"],
    ]
    assert "staff reads contracts; types: company, person" in output
    assert "warning: pass staff names contracts in `sources`, and there is no such source" in output
    assert "columns reads prices; types: thing" in output


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            SCHEMA.replace("single", "sngle"),
            "line 3: relations.led by.sngle does not exist; did you mean relations.led by.single?",
        ),
        (SCHEMA.replace("from: company", "form: company"), "line 3: relations.led by.from: Field required"),
        (f"sorces: [notes]\n{SCHEMA}", "readings/staff.yaml, line 1: sorces does not exist; did you mean sources?"),
        (SCHEMA.replace("to: person", "to: persn"), "line 3: relations.led by: it names persn, which `types` lacks"),
        ("types: [a", "readings/staff.yaml is not valid YAML"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, schema: str, said: str
) -> None:
    Path("readings").mkdir()
    Path("readings/staff.yaml").write_text(schema)
    monkeypatch.setenv("LIGHTRAG_READINGS", "readings")
    code, output, errors = command(capfd, monkeypatch, "readings", "check")
    assert (code, output) == (2, "")
    assert said in errors


def test_without_a_pass_that_is_said(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, output, _ = command(capfd, monkeypatch, "readings", "check")
    assert (code, "There is no pass: the setting `readings` names no folder" in output) == (0, True)
    Path("readings").mkdir()
    Path("readings/staff.yaml.txt").write_text(SCHEMA)
    monkeypatch.setenv("LIGHTRAG_READINGS", "readings")
    code, output, _ = command(capfd, monkeypatch, "readings", "check")
    assert (code, "There is no pass: no file NAME.yaml is in readings, and no source has" in output) == (0, True)


def test_a_draft_is_a_schema_and_replaces_none(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, output, _ = command(capfd, monkeypatch, "readings", "draft", "first")
    assert (code, "readings: readings" in output) == (0, True)
    assert "name it first.yaml" in output
    assert load_passes(Path("readings")) == {}, "the next run would ask with it about every chunk"
    Path("readings/first.yaml.draft").rename("readings/first.yaml")
    found = load_passes(Path("readings"))["first"]
    assert "person" in found.types
    assert {kind for one in found.relations.values() for kind in (*one.from_types, *one.to_types)} <= found.types.keys()
    before = Path("readings/first.yaml").read_text()
    assert " names\n" in before
    assert " passages\n" in before
    code, _, errors = command(capfd, monkeypatch, "readings", "draft", "first")
    assert (code, "is there already" in errors) == (2, True)
    assert Path("readings/first.yaml").read_text() == before
    code, _, errors = command(capfd, monkeypatch, "readings", "draft", "../first")
    assert (code, "names no pass" in errors) == (2, True)
    assert command(capfd, monkeypatch, "readings", "draft", "second")[0] == 0
    code, _, errors = command(capfd, monkeypatch, "readings", "draft", "second")
    assert (code, "second.yaml.draft is there already" in errors) == (2, True)
