import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from tests.cli.test_cli import command
from tests.query.facts.home import CANARY

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(facts_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LIGHTRAG_HOME", str(facts_home))
    return lambda *arguments: command(capfd, monkeypatch, *arguments)


def test_a_table_has_what_held_on_the_day(run: Run) -> None:
    code, shown, _ = run("facts", "Orrin Instruments", "--relation", "chief executive", "--as-of", "2021-07")
    assert code == 0
    for word in ("Priya Nair", "2021-06", "2022-02-28", "crm/2"):
        assert word in shown
    assert "Jonas" not in shown


def test_csv_has_a_column_for_each_field(run: Run) -> None:
    _, shown, errors = run(
        "facts", "orrin", "--value", ">=1500 EUR", "--source", "crm", "--format", "csv", "--limit", "1"
    )
    (row,) = csv.DictReader(io.StringIO(shown))
    assert (row["subject"], row["number"], row["unit"], row["source"]) == ("Orrin Instruments", "1700.0", "EUR", "crm")
    assert "meant is 'Orrin Instruments'" in errors
    assert "1 more rows; --limit says how many are printed." in errors


def test_json_is_what_python_returns(run: Run, facts_home: Path) -> None:
    with KnowledgeBase.open(facts_home) as knowledge:
        expected = json.loads(json.dumps(knowledge.facts("Halden Weir").to_dict()["facts"]))
        counted = json.loads(json.dumps(knowledge.count(by="relation").to_dict()["counts"]))
    shown = json.loads(run("facts", "Halden Weir", "--format", "json")[1])
    assert shown == [{name: one[name] for name in row} for row, one in zip(shown, expected, strict=True)]
    assert shown[0].keys() == expected[0].keys() - {"reference_id"}
    numbers = json.loads(run("count", "--by", "relation", "--format", "json")[1])
    assert [(one["relation"], one["facts"], one["fact_ids"]) for one in numbers] == [
        (one["key"], one["count"], one["fact_ids"]) for one in counted
    ]


def test_counts_say_where_the_newest_stands(run: Run) -> None:
    assert "secret/9" in run("count", "--by", "object", "--relation", "seat")[1]
    _, shown, _ = run("count", "--by", "object", "--relation", "seat", "--source", "crm")
    assert ("Bergen" in shown, CANARY in shown) == (True, False)
    assert run("count", "--relation", "seat", "--format", "csv")[1].startswith("facts,fact_ids,citations,left_out\n3,")


@pytest.mark.parametrize(
    ("form", "said"),
    [("csv", "facts,fact_ids,citations,left_out\n0,,,0\n"), ("json", '"facts": 0'), ("table", "│     0 │")],
)
def test_none_is_a_number_too(run: Run, form: str, said: str) -> None:
    assert said in run("count", "--relation", "seat", "--as-of", "1800", "--format", form)[1]


def test_a_question_of_a_day_has_its_facts_first(run: Run) -> None:
    _, shown, _ = run("query", "Who led Orrin Instruments?", "--as-of", "2021-07", "--only-context")
    facts = shown.partition("## Facts")[2]
    assert facts.index("Priya Nair") < facts.index("Marta Lindqvist")
    assert "Priya Nair (2021-06 – 2022-02-28)" in run("query", "Who led Orrin Instruments?", "--explain")[1]
    code, _, errors = run("query", "Who led Orrin Instruments?", "--as-of", "soon")
    assert (code, errors.startswith("error: as_of takes a day, month or year")) == (2, True)
