"""Sensors, evaluated as the daemon does, over a real home."""

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._utils.error import serializable_error_info_from_exc_info
from rich.console import Console

from lightrag_dagster.assets import INGESTION, alerts
from lightrag_dagster.assets.alerts import WEBHOOK_VARIABLE
from lightrag_dagster.assets.metadata import ACCOUNT_TAG
from lightrag_dagster.assets.sensors import (
    publish_accepted,
    record_failed_checks,
    record_failures,
    source_partitions,
)
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.ingestion import Ingestion
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.scopes import scope_snapshot
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings import DocumentSettings, Settings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.database.looks import DAEMON, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import newest_generation, remove_graph
from lightrag_dagster.storage.snapshots.snapshots import release, without_graph
from lightrag_dagster.storage.tables.acceptance import accepted
from tests.assets.runs import pretend
from tests.storage.test_locking import hold
from tests.support import FLOOD, RIVER, build, published, write_source


def publishes(instance: dg.DagsterInstance, settings: Settings) -> bool:
    """Say whether the sensor asks for a publication."""
    made = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
    return isinstance(made, dg.RunRequest)


def synchronise(instance: dg.DagsterInstance, settings: Settings) -> None:
    """Let the sensor keep the partitions in step."""
    source_partitions(dg.build_sensor_context(instance), lightrag=LightRAG(settings))


def ingest(settings: Settings, instance: dg.DagsterInstance, source: str) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions("source", [source])
    job = build_definitions(settings).resolve_job_def("ingest")
    return job.execute_in_process(instance=instance, partition_key=source, raise_on_error=False)


def test_publication_follows_what_is_accepted(instance: dg.DagsterInstance, settings: Settings) -> None:
    assert not publishes(instance, settings)
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    build(settings, graph=True)
    for _ in range(2):
        assert not publishes(instance, settings)
        # Else what is downstream would wait for another publication, as in an instance that is new.
        assert versions(instance) == [published(settings).snapshot_id]

    # A source of which nothing is accepted yet changes no row.
    write_source(settings, "letters", {"river.md": RIVER})
    assert next_publication(Situation.looking(settings)) is None
    assert not publishes(instance, settings)
    shutil.rmtree(settings.sources / "letters")

    shutil.rmtree(settings.sources / "office")
    assert not publishes(instance, settings)
    synchronise(instance, settings)
    assert instance.get_dynamic_partitions("source") == ["notes", "office"]
    settings = settings.changed(documents={"accept_deletes": True})
    synchronise(instance, settings)
    assert instance.get_dynamic_partitions("source") == ["notes"]
    assert publishes(instance, settings)
    # It waits for what is launched in the UI, whatever its job is called.
    pretend(instance, dg.DagsterRunStatus.STARTED, job="__ASSET_JOB", assets={"extractions"}, launched=True)
    assert not publishes(instance, settings)


@pytest.mark.long
def test_the_graph_of_a_published_snapshot_is_asked_for_alone(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    home = Home(settings.home)
    remove_graph(newest_generation(home))
    asked = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
    assert isinstance(asked, dg.RunRequest)
    assert asked.asset_selection == [dg.AssetKey("published_graph")]

    job = build_definitions(settings).resolve_job_def("publish")
    made = job.execute_in_process(instance=instance, asset_selection=asked.asset_selection)
    assert [event.step_key for event in made.all_events if event.is_step_success] == ["published_graph"]
    assert without_graph(home) is None
    assert not publishes(instance, settings)


@pytest.mark.long
def test_a_scope_whose_rule_was_changed_is_published_by_the_daemon(
    instance: dg.DagsterInstance, settings: Settings
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    wide = settings.changed(
        scopes={"press": {"sources": ("notes", "office")}}, dagster={"without": ("published_graph",)}
    )
    build(wide)
    assert not publishes(instance, wide)

    narrow = wide.changed(scopes={"press": {"sources": ("notes",)}})
    assert publishes(instance, narrow)
    assert build_definitions(narrow).resolve_job_def("publish").execute_in_process(instance=instance).success
    assert not publishes(instance, narrow)
    shown = scope_snapshot(narrow, "press")
    assert shown is not None
    assert set(shown.inputs.sources) == {"notes"}
    assert publishes(instance, narrow.changed(scopes={}))


@pytest.mark.long
def test_a_raised_bound_is_accepted_by_the_daemon_too(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "broken.txt": b"\xc3\x28"})
    assert ingest(settings, instance, "notes").success
    assert not publishes(instance, settings)
    more = settings.model_copy(update={"documents": DocumentSettings(max_failed_share=0.5)})
    assert publishes(instance, more)
    assert accepted(Home(settings.home), "notes") is None  # a tick writes nothing
    job = build_definitions(more).resolve_job_def("publish")
    merge = [dg.AssetKey(table) for table in MERGED_TABLES]
    assert job.execute_in_process(instance=instance, asset_selection=merge).success
    assert accepted(Home(settings.home), "notes") is not None


@pytest.mark.long
def test_what_was_published_before_is_asked_for_again(instance: dg.DagsterInstance, settings: Settings) -> None:
    """Dagster launches nothing twice for one key of a run."""
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    keys = list[str | None]()
    for text in (FLOOD, RIVER, FLOOD):
        os.utime(write_source(settings, "notes", {"river.md": text}) / "river.md", (1, 1))
        assert ingest(settings, instance, "notes").success
        asked = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
        assert isinstance(asked, dg.RunRequest)
        keys.append(asked.run_key)
        build(settings)
    assert len({*keys}) == 3


def test_a_publication_that_was_killed_is_asked_for_again_after_a_while(
    instance: dg.DagsterInstance, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster launches one run a key."""
    write_source(settings, "notes", {"river.md": RIVER})
    assert ingest(settings, instance, "notes").success
    asked = list[dg.RunRequest]()
    for seconds in (10**12, 10**12, 10**9):  # the first two at one time
        monkeypatch.setattr("lightrag_dagster.assets.sensors.RETRY_SECONDS", seconds)
        request = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
        assert isinstance(request, dg.RunRequest)
        asked.append(request)
    assert asked[0].run_key == asked[1].run_key != asked[2].run_key
    assert len({one.tags[ACCOUNT_TAG] for one in asked}) == 1, "each would have the whole of llm.max_cost_usd"
    other = LightRAG(settings.model_copy(update={"namespace": "other"}))
    request = publish_accepted(dg.build_sensor_context(instance), lightrag=other)
    assert isinstance(request, dg.RunRequest)
    assert request.run_key not in {one.run_key for one in asked}


def test_a_command_that_builds_for_long_holds_publication_up(instance: dg.DagsterInstance, settings: Settings) -> None:
    """Its run no longer counts as under way after HANGS; a merge would take the pool, and wait for its lock in vain."""
    write_source(settings, "notes", {"river.md": RIVER})
    assert ingest(settings, instance, "notes").success
    holder = hold(Home(settings.home))
    said = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
    assert isinstance(said, dg.SkipReason)
    assert said.skip_message == "waiting for another process that builds"
    holder.communicate("")
    assert publishes(instance, settings)


def test_partitions_follow_the_sources(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    synchronise(instance, settings)
    assert set(instance.get_dynamic_partitions("source")) == {"notes", "office"}
    shutil.rmtree(settings.sources / "office")
    synchronise(instance, settings)
    assert set(instance.get_dynamic_partitions("source")) == {"notes"}


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Bodies posted to the webhook, which this sets up."""
    bodies: list[bytes] = []
    monkeypatch.setattr(alerts, "SETTLED", timedelta())

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setenv(WEBHOOK_VARIABLE, f"http://127.0.0.1:{server.server_port}/secret")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield bodies
        server.shutdown()
        thread.join()


def status_context(
    result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance, source: str, kind: dg.DagsterEventType
) -> dg.RunStatusSensorContext:
    (event,) = [event for event in result.all_events if event.event_type is kind]
    return dg.build_run_status_sensor_context("sensor", event, instance, result.dagster_run, partition_key=source)


def failed_run(settings: Settings, instance: dg.DagsterInstance) -> dg.RunFailureSensorContext:
    result = ingest(settings, instance, "absent")
    return status_context(result, instance, "absent", dg.DagsterEventType.RUN_FAILURE).for_run_failure()


def versions(instance: dg.DagsterInstance) -> list[str]:
    """Return the data versions of the knowledge base, the newest last."""
    found = instance.fetch_materializations(dg.AssetKey("knowledge_base"), limit=9, ascending=True).records
    return [
        (one.asset_materialization.tags or {})["dagster/data_version"] for one in found if one.asset_materialization
    ]


def records(settings: Settings) -> list[dict[str, str]]:
    lines = Home(settings.home).failures.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_failed_run_is_recorded_and_posted(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    context = failed_run(settings, instance)

    record_failures(context, lightrag=LightRAG(settings))
    publishes(instance, settings)

    (record,) = records(settings)
    assert (record["source"], record["run_id"]) == ("absent", context.dagster_run.run_id)
    assert record["error"].startswith("raw_documents: ")
    assert "no such source: absent" in record["error"]
    (message,) = map(json.loads, received)
    assert message["text"].startswith(f"{settings.home}: ingest of source absent failed: no such source: absent")
    assert (message["run_id"], message["places"]) == (context.dagster_run.run_id, [str(settings.home)])


def test_a_failure_is_told_where_publication_is_the_projects_own(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "GATHERED", timedelta())
    record_failures(failed_run(settings, instance), lightrag=LightRAG(settings))
    write_source(settings, "absent", {"river.md": RIVER})
    synchronise(instance, settings)
    assert received == [], "`publish_accepted` tells"
    synchronise(instance, settings.changed(dagster={"without": ("publish_accepted",)}))
    assert len(received) == 1


def test_the_record_of_failures_keeps_the_last(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightrag_dagster.assets.sensors._FAILURES_KEPT", 1)
    contexts = [failed_run(settings, instance) for _ in range(3)]
    for context in contexts:
        record_failures(context, lightrag=LightRAG(settings))
    assert [one["run_id"] for one in records(settings)] == [contexts[2].dagster_run.run_id]


def test_a_run_whose_job_cannot_be_loaded_is_recorded_with_the_reason(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    """As after a slip in a file of settings, which the code location that runs does not see."""
    run = instance.create_run_for_job(build_definitions(settings).resolve_job_def("ingest"))
    try:
        raise SettingsError("setting llm.model: it has no value")
    except SettingsError:
        why = EngineEventData.engine_error(serializable_error_info_from_exc_info(sys.exc_info()))
    instance.report_engine_event("Could not load job definition.", run, why)
    event = instance.report_run_failed(run)
    context = dg.build_run_status_sensor_context("record_failures", event, instance, run)
    record_failures(context.for_run_failure(), lightrag=LightRAG(settings))
    (record,) = records(settings)
    assert record["error"].endswith("SettingsError: setting llm.model: it has no value")


def test_the_runs_of_others_are_not_recorded(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    @dg.asset
    def theirs() -> None:
        raise ValueError("not ours")

    result = dg.materialize([theirs], instance=instance, raise_on_error=False)
    (event,) = [one for one in result.all_events if one.event_type is dg.DagsterEventType.RUN_FAILURE]
    context = dg.build_run_status_sensor_context("record_failures", event, instance, result.dagster_run)
    record_failures(context.for_run_failure(), lightrag=LightRAG(settings))
    assert not Home(settings.home).failures.exists()
    publishes(instance, settings)
    assert received == []


def test_of_a_source_that_was_removed_nothing_fails_any_more(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    record_failures(failed_run(settings, instance), lightrag=LightRAG(settings))
    publishes(instance, settings)
    write_source(settings, "notes", {"river.md": RIVER})
    synchronise(instance, settings)
    publishes(instance, settings)
    assert [b"works again" in body for body in received] == [False, True]


def test_a_tick_that_fails_is_no_sign_of_life(instance: dg.DagsterInstance, settings: Settings) -> None:
    settings.sources.rmdir()
    with pytest.raises(SourceError):
        publishes(instance, settings)
    assert DAEMON not in Looks(Home(settings.home).ledger).read()
    settings.sources.mkdir()
    publishes(instance, settings)
    assert DAEMON in Looks(Home(settings.home).ledger).read()


@pytest.mark.long
def test_decisions_that_cannot_all_hold_are_told_by_a_run_that_merges_nothing(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes], tmp_path: Path
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    (tmp_path / "names.yaml").write_text("- {rename: Bergen, into: Oslo}\n- {rename: Bergen, into: Turku}\n")
    broken = settings.changed(curation=tmp_path / "names.yaml")
    assert publishes(instance, broken)
    result = (
        build_definitions(broken).resolve_job_def("publish").execute_in_process(instance=instance, raise_on_error=False)
    )
    (event,) = [one for one in result.all_events if one.event_type is dg.DagsterEventType.RUN_FAILURE]
    context = dg.build_run_status_sensor_context("record_failures", event, instance, result.dagster_run)
    record_failures(context.for_run_failure(), lightrag=LightRAG(broken))
    publishes(instance, broken)
    (message,) = map(json.loads, received)
    assert "publish failed: check hold_together of curation: names.yaml:1 and names.yaml:2 give one" in message["text"]
    assert not publishes(instance, settings), "the setting is mended"


@pytest.mark.long
def test_a_failed_check_is_recorded_and_posted_like_a_failed_run(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    write_source(settings, "good", {"river.md": RIVER})
    write_source(settings, "bad", {"river.md": RIVER, "![x](broken).txt": b"\xc3\x28"})
    for source in ("bad", "good"):
        result = ingest(settings, instance, source)
        for check in result.get_asset_check_evaluations():
            assert "![x](" not in str(check.description)  # which the UI takes for Markdown
        context = status_context(result, instance, source, dg.DagsterEventType.RUN_SUCCESS)
        record_failed_checks(context, lightrag=LightRAG(settings))
    publishes(instance, settings)

    (record,) = records(settings)
    assert record["source"] == "bad"
    assert record["error"].startswith("check accepted of entity_mentions: 1 of 2 documents of source 'bad' failed")
    assert "![x](broken).txt: not valid UTF-8" in record["error"]
    (message,) = map(json.loads, received)
    assert "ingest of source bad failed: check accepted of entity_mentions" in message["text"]

    (settings.sources / "bad" / "![x](broken).txt").unlink()
    for _ in range(2):
        result = ingest(settings.changed(documents={"accept_deletes": True}), instance, "bad")
        context = status_context(result, instance, "bad", dg.DagsterEventType.RUN_SUCCESS)
        record_failed_checks(context, lightrag=LightRAG(settings))
        publishes(instance, settings)
    (_, recovery) = map(json.loads, received)
    assert recovery["text"].endswith(": ingest of source bad works again")


@pytest.mark.long
@pytest.mark.parametrize(
    ("publish", "told"),
    [
        (
            "manual",
            "publish gen-ID waits for `lightrag-dagster release`: documents: 1 added, 0 removed, 0 changed of 1;",
        ),
        (
            0.5,
            "publish failed: check gates of knowledge_base: gen-ID waits for `lightrag-dagster release`: documents: 1",
        ),
    ],
)
def test_a_snapshot_that_waits_is_told(
    settings: Settings,
    instance: dg.DagsterInstance,
    received: list[bytes],
    publish: str | float,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gated = settings.changed(publish=publish)
    write_source(gated, "notes", {"river.md": RIVER})
    build(gated, graph=True)
    write_source(gated, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    assert ingest(gated, instance, "notes").success
    result = build_definitions(gated).resolve_job_def("publish").execute_in_process(instance=instance)
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "gates"]
    assert not check.passed
    (event,) = [one for one in result.all_events if one.event_type is dg.DagsterEventType.RUN_SUCCESS]
    context = dg.build_run_status_sensor_context("sensor", event, instance, result.dagster_run)
    if publish == "manual":
        with monkeypatch.context() as gone:
            gone.setenv(WEBHOOK_VARIABLE, "http://127.0.0.1:9/secret")
            with pytest.raises(dg.Failure, match="not delivered: ConnectError"):
                record_failed_checks(context, lightrag=LightRAG(gated))
    record_failed_checks(context, lightrag=LightRAG(gated))
    alerts.tell(instance, Home(gated.home).name, idle=True)
    newest = Situation.looking(gated).newest
    assert newest is not None
    (message,) = map(json.loads, received)
    assert told.replace("gen-ID", newest.snapshot_id) in message["text"]
    metadata = result.asset_materializations_for_node("knowledge_base")[0].metadata
    assert metadata["difference/documents"].value == "1 added, 0 removed, 0 changed of 1"
    assert versions(instance)[-1] != newest.snapshot_id  # which is not read yet, so that nothing follows it
    release(Home(gated.home))
    for _ in range(2):
        publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(gated))
        assert versions(instance)[-1] == newest.snapshot_id
    assert len(versions(instance)) == 2


@pytest.mark.long
def test_a_repair_by_materialize_is_told_when_the_source_is_whole(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    record_failures(failed_run(settings, instance), lightrag=LightRAG(settings))
    publishes(instance, settings)
    write_source(settings, "absent", {"river.md": RIVER})
    job = build_definitions(settings).resolve_implicit_global_asset_job_def()
    steps = [dg.AssetKey(name) for step in INGESTION[:4] for name in step.assets]
    for chosen, messages in ((steps[:2], 1), (steps, 2)):
        result = job.execute_in_process(instance=instance, partition_key="absent", asset_selection=chosen)
        context = status_context(result, instance, "absent", dg.DagsterEventType.RUN_SUCCESS)
        record_failed_checks(context, lightrag=LightRAG(settings))
        publishes(instance, settings)
        assert len(received) == messages
    assert json.loads(received[1])["text"].endswith(": ingest of source absent works again")


@pytest.mark.long
def test_a_repair_by_a_command_is_told_by_the_next_tick(
    settings: Settings, instance: dg.DagsterInstance, received: list[bytes]
) -> None:
    record_failures(failed_run(settings, instance), lightrag=LightRAG(settings))
    publishes(instance, settings)
    write_source(settings, "absent", {"![x](broken).txt": b"\xc3\x28"})
    assert ingest(settings, instance, "absent").success  # its check `accepted` failed
    publishes(instance, settings)
    assert len(received) == 1

    write_source(settings, "absent", {"river.md": RIVER})
    with display(Console(quiet=True)) as view:
        many = Ingestion(LightRAG(settings), build_definitions(settings), view, backfill=False)
        job = many.job([find_source(settings, "absent")])
        assert job.execute_in_process(instance=instance, tags={ACCOUNT_TAG: "one"}).success
    for _ in range(2):
        publishes(instance, settings)
    (_, recovery) = map(json.loads, received)
    assert recovery["text"].endswith(": ingest of source absent works again")


def test_a_message_that_cannot_be_delivered_costs_nothing_else(
    settings: Settings,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(WEBHOOK_VARIABLE, "http://127.0.0.1:9/secret")
    monkeypatch.setattr(alerts, "SETTLED", timedelta())
    record_failures(failed_run(settings, instance), lightrag=LightRAG(settings))
    publishes(instance, settings)
    assert len(records(settings)) == 1
    assert "was not delivered: ConnectError" in caplog.text
    assert "secret" not in caplog.text


def made(instance: dg.DagsterInstance, asset: str, version: str) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(asset, tags={"dagster/data_version": version}))


def test_what_asks_questions_follows_the_snapshot(
    settings: Settings, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    file = tmp_path / "questions.yaml"
    definitions = build_definitions(settings.model_copy(update={"questions": file}))
    cursor: dg.AssetDaemonCursor | None = None

    def requested() -> int:
        nonlocal cursor
        result = dg.evaluate_automation_conditions(
            definitions, instance, asset_selection=dg.AssetSelection.groups("downstream"), cursor=cursor
        )
        cursor = result.cursor
        return result.total_requested

    assert requested() == 0
    made(instance, "knowledge_base", "gen-1")
    assert requested() == 2
    for asset in ("answers", "retrieval_evaluation"):
        made(instance, asset, "a")
    assert requested() == 0
    made(instance, "knowledge_base", "gen-1")
    assert requested() == 0
    made(instance, "knowledge_base", "gen-2")
    assert requested() == 2


def test_nothing_else_is_made_by_a_condition(settings: Settings) -> None:
    specs = build_definitions(settings).resolve_all_asset_specs()
    assert [spec.key for spec in specs if spec.automation_condition] == []
