"""A schema is tried on a sample: its facts, the rows that are none, and the price, beside those of today."""

from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.cli.trial import Tried, _facts, _rows
from lightrag_dagster.evaluation.trial import ReadByPass, try_recipe
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.facts.answers import WORDS_LACKING
from lightrag_dagster.storage.home import Home
from tests.loopback import Answer, Loopback
from tests.passes import (
    EVENTS,
    WORKS,
    answer,
    asked_of,
    facts_of,
    is_of_pass,
    model_settings,
    with_passes,
    write_schemas,
)
from tests.support import FLOOD, OFFICE, RIVER, build, write_source


def forging(body: dict[str, Any]) -> Answer:
    """Answer passes with two forged facts beside each first one."""
    return answer(body, facts_of(body, forged=["never said", "nor this"])) if is_of_pass(body) else answer(body)


@pytest.fixture
def reading(tmp_path: Path, loopback: Loopback) -> Settings:
    settings = model_settings(tmp_path, loopback)
    write_source(settings, "notes", {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    made = with_passes(settings, tmp_path / "readings", works=WORKS)
    build(made)
    loopback.requests.clear()
    loopback.chat = forging
    return made


@pytest.mark.long
def test_a_schema_is_tried_on_a_sample_without_changing_the_home(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    tables = {path: path.read_bytes() for path in (reading.home / "tables").rglob("*") if path.is_file()}
    folder = write_schemas(tmp_path / "tried", works=WORKS, events=EVENTS)
    tried = Tried(readings=folder).applied(reading)

    trial = try_recipe(reading, tried, 10, [], "try")

    assert [asked_of(one.body) for one in loopback.requests if "messages" in one.body] == ["closed"] * 3
    before, after = trial.before.passes, trial.after.passes
    assert ([*before], sorted(after)) == (["works"], ["events", "works"])
    assert before["works"] == after["works"]
    assert (after["works"].facts, after["works"].rejected) == (2, {})
    events = after["events"]
    assert events == ReadByPass(2, {WORDS_LACKING: 4}, 0, 0, events.answers_cost_usd)
    bought = Ledger(Home.of(reading).ledger).by_purpose()["readings@events"]
    assert bought.calls == 3
    by_source = Ledger(Home.of(reading).ledger).costs(["source", "purpose"])
    assert [one["source"] for one in by_source if one["purpose"] == "readings@events"] == ["notes"]
    assert bought.cost_usd == pytest.approx(events.answers_cost_usd)
    assert trial.after.answers_cost_usd == pytest.approx(trial.before.answers_cost_usd + events.answers_cost_usd)
    assert trial.backfill_cost_usd == pytest.approx(events.answers_cost_usd), "all 3 chunks; the rest is stored"
    assert {path: path.read_bytes() for path in (reading.home / "tables").rglob("*") if path.is_file()} == tables
    rows = {row[0]: row[1:] for row in _rows(trial)}
    assert rows["pass works: facts"] == ("2", "2")
    assert rows["pass events: facts"] == ("0", "2")
    assert rows[f"pass events, rejected: {WORDS_LACKING}"] == ("0", "4")
    assert _facts(trial)["after"]["passes"]["events"]["rejected"] == {WORDS_LACKING: 4}


@pytest.mark.parametrize("misspelt", [True, False])
def test_facts_that_stay_since_their_pass_cannot_read_are_in_neither_half_of_a_trial(
    reading: Settings, tmp_path: Path, misspelt: bool
) -> None:
    sources = f"sources: [ntoes]\n{WORKS}" if misspelt else WORKS
    llm = {} if misspelt else {"provider": "offline"}
    tried = with_passes(reading.changed(llm=llm), tmp_path / "now", works=sources)

    trial = try_recipe(tried, tried, 10, [], "try")

    assert (trial.before.passes, trial.after.passes) == ({}, {})
