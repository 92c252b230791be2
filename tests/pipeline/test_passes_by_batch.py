"""Passes by the provider's Batch API: their requests wait by themselves, and the first reading goes on."""

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from lightrag_dagster.errors import BudgetExceededError, SettingsError
from lightrag_dagster.models.batch.ledger import BatchLedger, WaitingExtraction, sources_that_wait
from lightrag_dagster.pipeline.extractions import Waiting
from lightrag_dagster.pipeline.ingest import STEPS, SourceIngestion
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import publish
from tests.loopback import Loopback
from tests.loopback_batches import Fate, SubmittedBatch
from tests.passes import EVENTS, WORKS, asked_of, model_settings, with_passes
from tests.support import FLOOD, OFFICE, RIVER, write_source


@pytest.fixture
def batched(tmp_path: Path, loopback: Loopback) -> Settings:
    settings = model_settings(tmp_path, loopback, llm={"mode": "batch"})
    write_source(settings, "notes", {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    return with_passes(settings, tmp_path / "readings", works=WORKS, events=EVENTS)


def ingest(settings: Settings) -> str | None:
    """Take the steps of a run on the source; return the one at which it waits for batches, None at the end."""
    account = Account.of("run", "notes", settings.llm)
    source = SourceIngestion("notes", SourceTables(Home.of(settings)), Recipes.of(settings), account)
    return next((name for name, step in STEPS.items() if isinstance(step(source), Waiting)), None)


def submitted(server: Loopback) -> Counter[str]:
    """Return how many requests went into batches, by what they are for."""
    return Counter(asked_of(line["body"]) for one in server.batches.batches.values() for line in one.lines)


@pytest.mark.long
def test_the_first_reading_is_published_while_passes_wait_and_each_request_is_bought_once(
    batched: Settings, loopback: Loopback
) -> None:
    home = Home.of(batched)
    assert ingest(batched) == "extractions"
    assert ingest(batched) == "readings"
    assert submitted(loopback) == {"extract": 3, "maintains": 3, "closed": 3}

    record = accepted(home, "notes")
    assert record is not None
    assert (record.passes, publish(Recipes.of(batched)).rows["entities"] > 0) == ({}, True)
    with BatchLedger(home.batches) as ledger:
        assert ledger.waiting() == [
            WaitingExtraction("notes", False, "run", "readings@events"),
            WaitingExtraction("notes", False, "run", "readings@works"),
        ]
    assert sources_that_wait(batched.llm, home).keys() == {"notes"}

    assert ingest(batched) is None

    record = accepted(home, "notes")
    assert record is not None
    assert [*record.passes] == ["events", "works"]
    assert submitted(loopback).total() == len(loopback.batches.asked()) == 9
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions")]
    assert sources_that_wait(batched.llm, home) == {}
    bought = Ledger(home.ledger).by_purpose()
    assert {name: one.calls for name, one in bought.items() if name != "embed"} == {
        "extract": 3,
        "readings@events": 3,
        "readings@works": 3,
    }


@pytest.mark.long
def test_a_pass_waits_while_a_new_document_is_extracted(batched: Settings, loopback: Loopback) -> None:
    for step in ("extractions", "readings"):
        assert ingest(batched) == step
    loopback.batches.spoil = lambda batch: Fate(looks=2)
    write_source(
        batched,
        "notes",
        {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE, "new.txt": f"{OFFICE} Mara Quill left."},
    )
    steps = list[str]()
    while at := ingest(batched):
        steps.append(at)
        assert len(steps) < 12
    assert {*steps} == {"extractions", "readings"}
    assert submitted(loopback) == {"extract": 4, "maintains": 4, "closed": 4}


@pytest.mark.long
def test_facts_of_a_pass_that_is_read_do_not_wait_for_another_pass(batched: Settings, loopback: Loopback) -> None:
    assert ingest(batched) == "extractions"

    def fate(batch: SubmittedBatch) -> Fate:
        return Fate(looks=5 if asked_of(batch.lines[0]["body"]) == "maintains" else 0)

    loopback.batches.spoil = fate
    for _ in range(2):
        assert ingest(batched) == "readings"
    record = accepted(Home.of(batched), "notes")
    assert record is not None
    assert [*record.passes] == ["events"]


@pytest.mark.long
def test_requests_that_a_batch_refuses_for_good_are_not_asked_again_by_the_next_extraction(
    batched: Settings, loopback: Loopback
) -> None:
    assert ingest(batched) == "extractions"

    def fate(batch: SubmittedBatch) -> Fate:
        return Fate(failed={0: (400, "invalid")}) if asked_of(batch.lines[0]["body"]) == "maintains" else Fate()

    loopback.batches.spoil = fate
    assert ingest(batched) == "readings"
    assert ingest(batched) is None
    readings = SourceTables(Home.of(batched)).require("readings@works", "notes")
    assert readings.counts["status"] == {"failed": 1, "ok": 2}
    assert submitted(loopback)["maintains"] == 3


@pytest.mark.long
def test_real_time_is_refused_for_the_pass_that_waits_alone(batched: Settings, loopback: Loopback) -> None:
    def fate(batch: SubmittedBatch) -> Fate:
        return Fate(looks=0 if asked_of(batch.lines[0]["body"]) == "extract" else 3)

    loopback.batches.spoil = fate
    assert ingest(batched) == "extractions"
    assert ingest(batched) == "readings"
    at_once = batched.changed(llm={"mode": "realtime"})
    home = Home.of(batched)
    account = Account.of("run", "notes", at_once.llm)
    source = SourceIngestion("notes", SourceTables(home), Recipes.of(at_once), account)
    source.extract()
    with pytest.raises(SettingsError, match="waits for batches, and real time would pay"):
        source.read_passes()
    for _ in range(4 * len(source.recipes.passes_to_read("notes"))):  # each asks about one pass's batches once more
        with suppress(SettingsError):
            source.read_passes()
    assert not isinstance(source.read_passes(), Waiting)  # the batches have ended
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions")]


def test_a_budget_ends_a_pass_after_the_first_reading_was_accepted(batched: Settings, tmp_path: Path) -> None:
    at_once = batched.changed(llm={"mode": "realtime"}, readings=None)
    assert ingest(at_once) is None
    spent = Ledger(Home.of(at_once).ledger).spent("run")
    limited = batched.changed(llm={"mode": "realtime", "max_cost_usd": spent + 0.00001})
    with pytest.raises(BudgetExceededError, match="used up"):
        ingest(limited)
    record = accepted(Home.of(limited), "notes")
    assert record is not None
    assert record.passes == {}
    assert ingest(batched.changed(llm={"mode": "realtime"})) is None


def test_a_pass_that_is_taken_away_waits_for_no_batch(batched: Settings, tmp_path: Path) -> None:
    assert [ingest(batched) for _ in range(2)] == ["extractions", "readings"]
    left = with_passes(batched, tmp_path / "left", works=WORKS)
    with BatchLedger(Home.of(batched).batches) as ledger:
        assert [one.purpose for one in ledger.waiting()] == ["readings@events", "readings@works"]
        assert ingest(left) is None
        assert ledger.waiting() == []
