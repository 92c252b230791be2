"""Schedules, evaluated as the daemon does, over a real home."""

import shutil
import socket
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.assets.jobs import build_jobs
from lightrag_dagster.assets.schedules import (
    MORNING_DEADLINE,
    MORNING_SLACK,
    Due,
    build_schedules,
    look_seconds,
    nightly,
    requests_of,
    sources_to_ingest,
)
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.pipeline.ingest import source_to_read
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home
from tests.assets.runs import pretend
from tests.support import FLOOD, OFFICE, RIVER, build, write_source


def test_only_what_is_pending_is_ingested(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    assert sources_to_ingest(settings, set()) == ([], [])
    known = {"notes", "office"}
    assert sources_to_ingest(settings, known) == (["notes", "office"], [])

    build(settings)

    assert sources_to_ingest(settings, known) == ([], [])
    assert Looks(Home(settings.home).ledger).read().keys() == known  # so that `status --check` knows who was looked at
    write_source(settings, "office", {"flood.md": f"{FLOOD} It rained."})
    assert sources_to_ingest(settings, known) == (["office"], [])
    # Outdated rows wait for a backfill.
    german = settings.changed(language="German")
    assert sources_to_ingest(german, known) == (["office"], [])


def test_a_source_that_is_gone_has_a_run_that_fails_with_the_reason(settings: Settings) -> None:
    gone = write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"office.md": OFFICE})
    build(settings)
    shutil.rmtree(gone)
    assert sources_to_ingest(settings, {"notes", "office"}) == (["notes"], [])
    assert sources_to_ingest(settings, {"office"}) == ([], [])
    accepted = settings.changed(documents={"accept_deletes": ("notes",)})
    assert sources_to_ingest(accepted, {"notes", "office"}) == ([], [])
    with pytest.raises(SourceError, match="source 'notes' is gone"):
        source_to_read(settings, "notes")


@pytest.mark.long
def test_a_source_that_cannot_be_listed_fails_by_itself(settings: Settings, tmp_path: Path) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    missing = settings.model_copy(update={"named_sources": {"absent": SourceSettings(uri=str(tmp_path / "absent"))}})
    assert sources_to_ingest(missing, {"absent", "notes"}) == (["absent"], [])


def test_a_source_that_is_slow_to_list_is_ingested_to_find_out(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes the request and never answers
        slow = SourceSettings(uri=f"http://127.0.0.1:{silent.getsockname()[1]}/a.md")
        settings = settings.model_copy(update={"named_sources": {"slow": slow}})
        assert sources_to_ingest(settings, {"slow"}, seconds=0.05) == ([], ["slow"])
        assert sources_to_ingest(settings, set(), seconds=0.05) == ([], [])
    night = requests_of(Due(["changed"], ["slow"]), "tonight", 40)
    assert {one.partition_key: one.tags.get("lightrag/slow") for one in night} == {
        "changed": None,
        "slow": "not listed within 40 s",
    }


def test_how_long_a_tick_may_take_is_what_dagster_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look_seconds() == 40
    monkeypatch.setenv("DAGSTER_GRPC_TIMEOUT_SECONDS", "90")
    assert look_seconds() == 60
    monkeypatch.setenv("DAGSTER_SCHEDULE_GRPC_TIMEOUT_SECONDS", "300")
    assert look_seconds() == 200


def test_the_night_begins_when_the_setting_says(settings: Settings) -> None:
    later = settings.model_copy(update={"nightly": "30 3 * * *"})
    jobs = build_jobs(settings, dg.in_process_executor)
    assert build_schedules(later, jobs)[0].cron_schedule == "30 3 * * *"
    with pytest.raises(SettingsError, match="nightly: 'at three' is not a cron line"):
        build_schedules(settings.model_copy(update={"nightly": "at three"}), jobs)


def test_a_morning_without_a_report_shows(settings: Settings) -> None:
    specs = {spec.key.to_user_string(): spec for spec in build_definitions(settings).resolve_all_asset_specs()}
    policies = {name: spec.freshness_policy for name, spec in specs.items() if spec.freshness_policy}
    assert list(policies) == ["status_report"]
    assert policies["status_report"] == dg.FreshnessPolicy.cron(MORNING_DEADLINE, MORNING_SLACK)
    never = build_definitions(settings.changed(dagster={"without": ("morning",)})).resolve_all_asset_specs()
    assert not any(spec.freshness_policy for spec in never), "nothing would make it each morning"


def test_a_source_whose_run_waits_since_the_last_night_is_not_requested_again(settings: Settings) -> None:
    for name in ("notes", "office", "wiki"):
        write_source(settings, name, {"river.md": RIVER})
    night = datetime(2026, 1, 2, tzinfo=UTC)
    with open_instance(Home.of(settings)) as instance:
        instance.add_dynamic_partitions("source", ["notes", "office", "wiki"])
        # Between two of its steps the night would read the source, and this would put its older reading in that place.
        pretend(instance, dg.DagsterRunStatus.STARTED, {"dagster/partition": "wiki"}, job="backfill", launched=True)
        pretend(instance, dg.DagsterRunStatus.QUEUED, {"dagster/partition": "notes"}, job="ingest", launched=True)
        # What this one reads may have changed since.
        pretend(instance, dg.DagsterRunStatus.STARTED, {"dagster/partition": "office"}, job="ingest")
        with dg.build_schedule_context(instance=instance, scheduled_execution_time=night) as context:
            requests = nightly(context, LightRAG(settings))
    assert not isinstance(requests, dg.SkipReason)
    assert [one.partition_key for one in requests] == ["office"]


@pytest.mark.long
def test_the_night_removes_what_scopes_replaced(settings: Settings) -> None:
    scoped = settings.changed(scopes={"all": {"paths": ("*",)}, "press": {"sources": ("notes",)}})
    write_source(scoped, "notes", {"river.md": RIVER})
    build(scoped)
    home = Home.of(scoped.within("press"))
    with KnowledgeBase.open(settings=scoped, scope="press"):
        write_source(scoped, "notes", {"river.md": FLOOD})
        build(scoped)
    assert len(list(home.generations.iterdir())) == 2
    with open_instance(Home.of(scoped)) as instance:
        night = datetime(2026, 1, 2, tzinfo=UTC)
        with dg.build_schedule_context(instance=instance, scheduled_execution_time=night) as context:
            assert isinstance(nightly(context, LightRAG(scoped)), dg.SkipReason)
    assert len(list(home.generations.iterdir())) == 1
