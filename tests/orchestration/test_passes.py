"""Passes in a run: the first reading never waits for them, and what they lack is a line of its own."""

import re
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets.sensors import publish_accepted
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply
from tests.passes import EVENTS, WORKS, answer, facts_of, is_of_pass, model_settings, with_passes
from tests.support import FLOOD, OFFICE, RIVER, published, run, write_source

OF_PASSES = {"readings", "facts", "read_facts", "merged_facts", "fact_evidence"}


@pytest.fixture
def reading(tmp_path: Path, loopback: Loopback) -> Settings:
    """Settings with the passes `events` and `works`, and two sources that nothing has read."""
    settings = model_settings(tmp_path, loopback, llm={"max_retries": 0})
    write_source(settings, "notes", {"river.txt": RIVER, "office.txt": OFFICE})
    write_source(settings, "flood", {"flood.txt": FLOOD})
    return with_passes(settings, tmp_path / "readings", works=WORKS, events=EVENTS)


def rows(settings: Settings) -> int:
    """Return the number of merged facts that are published."""
    return published(settings).rows.get("merged_facts", 0)


def lines(settings: Settings) -> list[str]:
    """Return what `status --check` says of passes."""
    states = pending(Situation.looking(settings))
    return [line for state in states.sources.values() for line in (*state.passes.rejected, *state.passes.others)]


@pytest.mark.long
def test_a_provider_that_refuses_a_pass_costs_the_facts_and_not_the_snapshot(
    reading: Settings, loopback: Loopback
) -> None:
    loopback.fault = lambda one: Reply.error(401) if is_of_pass(one.body) else None

    refused = run(reading)
    without, said = published(reading), lines(reading)
    loopback.fault = lambda one: None
    read = run(reading)

    assert refused.ingested == []
    assert sorted(refused.failed) == ["flood", "notes"]
    assert all(re.match("the facts of a pass alone; .*401", reason) for reason in refused.failed.values())
    assert without.rows["entities"] > 0
    assert "merged_facts" not in without.rows
    assert sorted(said) == [
        f"pass {name} has not read {source} yet; the next run does"
        for name in ("events", "works")
        for source in ("flood", "notes")
    ]
    assert (read.failed, read.rejected, lines(reading)) == ({}, {}, [])
    assert rows(reading) > 0
    assert published(reading).rows["entities"] >= without.rows["entities"]


@pytest.mark.long
def test_a_refused_pass_costs_neither_sources_that_no_model_reads_so_nor_facts_of_columns(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    (tmp_path / "prices.csv").write_text("id,part,price\n1,Clear Cap,136\n")
    stated = [{"subject": "part", "relation": "price", "value": "price", "unit": "EUR"}]
    prices = {"uri": str(tmp_path / "prices.csv"), "rows": {"text": "{part} is sold.", "facts": stated}}
    settings = with_passes(
        reading.changed(named_sources={"prices": prices}),
        tmp_path / "readings",
        works=f"sources: [flood, prices]\n{WORKS}",
    )
    loopback.fault = lambda one: Reply.error(401) if is_of_pass(one.body) else None

    refused = run(settings)

    assert sorted(refused.failed) == ["flood", "prices"]
    assert refused.ingested == ["notes"]
    assert sum(is_of_pass(one.body) for one in loopback.requests if "messages" in one.body) == 1
    assert rows(settings) == 1
    said = "pass works has not read {} yet; the next run does"
    assert lines(settings) == [said.format(source) for source in ("flood", "prices")]


@pytest.mark.long
def test_the_month_of_one_source_that_is_spent_in_a_pass_costs_no_pass_of_others(reading: Settings) -> None:
    run(reading.changed(readings=None))
    ledger = Ledger(Home(reading.home).ledger)
    ledger.add(Account("before", "flood").entry("extract", "gpt-4o-mini", Usage(calls=1, cost_usd=1.0)))

    outcome = run(reading.changed(llm={"max_cost_per_source_month_usd": 1.0}))

    assert list(outcome.failed) == ["flood"]
    assert "$1 a source and month is used up" in outcome.failed["flood"]
    assert outcome.ingested == ["notes"]
    assert rows(reading) > 0


@pytest.mark.long
def test_a_pass_whose_rows_are_no_facts_keeps_its_accepted_facts(reading: Settings, loopback: Loopback) -> None:
    run(reading)
    before = rows(reading)
    loopback.chat = lambda body: answer(
        body, facts_of(body, forged=["words that nobody wrote"] * 9) if is_of_pass(body) else None
    )
    write_source(reading, "flood", {"flood.txt": f"{FLOOD} Jonas Feld closed Station 14 again."})

    outcome = run(reading)

    assert list(outcome.rejected) == ["flood"]
    assert "yield no fact" in outcome.rejected["flood"]
    kept, gone = "; its last accepted facts stay, without ", " of chunks that were edited or removed"
    number = re.search(rf"{kept}(\d+) facts?{gone}$", outcome.rejected["flood"])
    assert number
    assert int(number[1]) > 0
    assert f"the facts of a pass alone; {'; '.join(lines(reading))}" == outcome.rejected["flood"]
    assert {*lines(reading)} <= {*outcome.states.warnings}
    assert 0 < rows(reading) <= before


@pytest.mark.long
def test_why_a_run_failed_is_no_cause_after_a_backfill_that_is_withheld(reading: Settings, loopback: Loopback) -> None:
    run(reading)
    looks = Looks(Home(reading.home).ledger)
    looks.failed("flood", "the budget of $1 is used up")
    loopback.chat = lambda body: answer(
        body, facts_of(body, forged=["words that nobody wrote"] * 9) if is_of_pass(body) else None
    )
    write_source(reading, "flood", {"flood.txt": f"{FLOOD} Jonas Feld closed Station 14 again."})

    run(reading.changed(language="German"), backfill=True)

    assert looks.read()["flood"].error is None


@pytest.mark.long
def test_a_raised_bound_is_accepted_of_a_pass_by_the_daemon_too(
    reading: Settings, loopback: Loopback, instance: dg.DagsterInstance
) -> None:
    loopback.chat = lambda body: answer(
        body, facts_of(body, forged=["words that nobody wrote"] * 9) if is_of_pass(body) else None
    )
    run(reading)
    raised = reading.changed(extraction={"max_rejected_share": 1.0})

    asked = [publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(one)) for one in (reading, raised)]

    assert isinstance(asked[0], dg.SkipReason)
    assert isinstance(asked[1], dg.RunRequest)
    assert rows(reading) == 0
    assert build_definitions(raised).resolve_job_def("publish").execute_in_process(instance=instance).success
    assert rows(raised) > 0
    again = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(raised))
    assert isinstance(again, dg.SkipReason)


def test_assets_of_passes_are_there_with_passes_alone(reading: Settings) -> None:
    def names(settings: Settings) -> set[str]:
        found = build_definitions(settings).resolve_asset_graph().get_all_asset_keys()
        return {key.path[-1] for key in found}

    def jobs(settings: Settings, name: str) -> set[str]:
        job = build_definitions(settings).resolve_job_def(name)
        return {key.path[-1] for key in job.asset_layer.executable_asset_keys}

    without = reading.model_copy(update={"readings": None})
    assert names(reading) - names(without) == OF_PASSES
    assert jobs(reading, "ingest") - jobs(without, "ingest") == {"readings", "facts", "read_facts"}
    assert jobs(reading, "publish") - jobs(without, "publish") == {"merged_facts", "fact_evidence"}


@pytest.mark.long
def test_each_asset_of_passes_has_one_event_a_source_with_the_numbers_of_all(reading: Settings) -> None:
    run(reading)

    with open_instance(Home(reading.home)) as instance:
        found = dict[tuple[str, str], dict[str, Any]]()
        for asset in ("readings", "facts", "read_facts"):
            for source in ("notes", "flood"):
                chosen = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[source])
                [record] = instance.fetch_materializations(chosen, limit=5).records
                event = record.asset_materialization
                assert event is not None
                found[asset, source] = {key: value.value for key, value in event.metadata.items()}
        checks = instance.event_log_storage.get_asset_check_execution_history(
            dg.AssetCheckKey(dg.AssetKey("facts"), "passes_accepted"), limit=5
        )
    assert found["readings", "notes"]["calls"] == 4  # two chunks, two passes
    assert found["readings", "flood"]["calls"] == 2
    assert found["facts", "notes"]["dagster/partition_row_count"] + found["facts", "flood"][
        "dagster/partition_row_count"
    ] == sum(found["read_facts", source]["facts"] for source in ("notes", "flood"))
    assert [check.status.value for check in checks] == ["SUCCEEDED"] * 2
