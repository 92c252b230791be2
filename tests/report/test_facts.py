"""The page counts facts and shows what contradicts; without a pass it has nothing of them."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from lightrag_dagster.report.bounds import BOUNDS
from lightrag_dagster.report.facts import facts_of
from tests.exports.texts import graph_of

RENT = {"subject": "Quay 4", "relation": "rent", "single": True, "value_kind": "number"}
FACTS = [
    {**RENT, "fact_id": "fact-1", "subject_id": 0, "value": "52,500 EUR", "number": 52500.0},
    {**RENT, "fact_id": "fact-2", "subject_id": 0, "value": "51,000 EUR", "number": 51000.0},
    {"fact_id": "fact-3", "subject_id": 0, "relation": "landlord", "object_id": 1, "valid_from": date(2023, 7, 1)},
]


def test_facts_are_counted_and_both_sides_of_a_contradiction_shown(tmp_path: Path) -> None:
    evidence = [
        {"fact_id": name, "source": "papers", "path": path}
        for name, path in (("fact-1", "lease.md"), ("fact-1", "amended.md"), ("fact-2", "report.md"))
    ]
    graph = graph_of(tmp_path, ["Quay 4", "Sollen"], facts=FACTS, evidence=evidence)
    found = facts_of(graph, BOUNDS)
    assert found is not None
    assert found["counts"] == [["rent", 2], ["landlord", 1]]
    assert found["contradictions"] == [
        {
            "subject": "Quay 4",
            "relation": "rent",
            "says": "52,500 EUR",
            "place": "papers/amended.md",
            "other": "51,000 EUR",
            "other_place": "papers/report.md",
            "from": None,
        }
    ]
    assert (found["total"], found["left_out"]) == (1, [])
    assert facts_of(graph, BOUNDS) == found  # a process may write several reports


def test_contradictions_that_are_cut_are_told(tmp_path: Path) -> None:
    facts = [
        {**RENT, "fact_id": f"fact-{rent}", "subject_id": 0, "value": f"{rent} EUR", "number": float(rent)}
        for rent in range(3)
    ]
    evidence = [{"fact_id": one["fact_id"], "source": "papers", "path": "lease.md"} for one in facts]
    found = facts_of(graph_of(tmp_path, ["Quay 4"], facts=facts, evidence=evidence), replace(BOUNDS, facts=1))
    assert found is not None
    assert found["left_out"] == [f"contradictions: {found['total'] - 1} more"]


def test_contradictions_have_an_order_of_their_own(tmp_path: Path) -> None:
    facts = [
        {
            **RENT,
            "fact_id": f"fact-{number}",
            "subject_id": 0,
            "value": f"{number * 7 % 10} EUR",
            "number": float(number),
        }
        for number in range(10)
    ]
    evidence = [{"fact_id": one["fact_id"], "source": "papers", "path": "lease.md"} for one in facts]
    found = facts_of(graph_of(tmp_path, ["Quay 4", "Sollen"], facts=facts, evidence=evidence), BOUNDS)
    assert found is not None
    said = [(one["says"], one["other"]) for one in found["contradictions"]]
    assert (len(said), said) == (45, sorted(said))


def test_without_a_pass_there_is_nothing(tmp_path: Path) -> None:
    assert facts_of(graph_of(tmp_path, ["one"]), BOUNDS) is None
