"""The partitioned assets by themselves: what they report, what their checks say, and what is accepted."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets.metadata import ACCOUNT_TAG
from lightrag_dagster.assets.sensors import batches
from lightrag_dagster.cli.check import failing
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.batch import batches as batches_module
from lightrag_dagster.models.batch import waiting
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import DocumentSettings, Settings, load_settings
from lightrag_dagster.stages.documents import raw_documents
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.assets.markdown import cells
from tests.loopback import Loopback, Reply
from tests.loopback_batches import Fate
from tests.models.models import offline_answer
from tests.support import FLOOD, RIVER, write_source


def ingest(
    settings: Settings, instance: dg.DagsterInstance, source: str, job: str = "ingest", **options: Any
) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions("source", [source])
    definition = build_definitions(settings).resolve_job_def(job)
    return definition.execute_in_process(instance=instance, partition_key=source, raise_on_error=False, **options)


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    (event,) = result.asset_materializations_for_node("mentions" if asset.endswith("_mentions") else asset)[:1]
    return {name: value.value for name, value in event.metadata.items()}


def failed_checks(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {check.check_name: check for check in result.get_asset_check_evaluations() if not check.passed}


def test_materialisations_report_rows_schema_and_calls(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "empty.md": "", "x.bin": b"\x00"})
    monkeypatch.setattr(raw_documents, "_SLOW", 0.0)

    result = ingest(settings, instance, "notes")

    assert result.success
    documents = metadata_of(result, "raw_documents")
    assert documents["dagster/partition_row_count"] == 4
    assert "dagster/row_count" not in documents
    assert (documents["processed"], documents["empty"], documents["skipped"]) == (2, 1, 1)
    assert documents["dagster/column_schema"].columns[0].name == "source"
    assert documents["media_types"] == {"application/octet-stream": 1, "text/markdown": 2, "text/plain": 1}
    assert cells(documents["largest"])[2] == "flood.txt"
    slowest = documents["slowest"].splitlines()
    assert (slowest[0], len(slowest)) == ("| path | seconds |", 2 + 4)
    assert (documents["failures"], documents["unchanged"]) == ("none", 0)
    assert [documents[kind] for kind in ("deleted", "emptied", "repeating", "switched_off")] == [0, 0, 0, 0]
    extractions = metadata_of(result, "extractions")
    assert (extractions["calls"], extractions["ok"], extractions["kept"], extractions["outdated"]) == (4, 2, 0, 0)
    checks = result.get_asset_check_evaluations()
    assert {check.check_name for check in checks} == {
        "names_found",
        "names_grounded",
        "accepted",
        "words_read",
        "types_known",
        "outdated",
    }
    assert all(check.passed and check.partition == "notes" for check in checks)


@pytest.mark.long
def test_equal_content_is_the_same_data_version(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    tags = [
        ingest(settings, instance, "notes").asset_materializations_for_node("chunks")[0].tags or {} for _ in range(2)
    ]
    assert tags[0]["dagster/data_version"] == tags[1]["dagster/data_version"]


@pytest.mark.long
def test_too_many_failures_are_not_accepted(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "broken.txt": b"\xc3\x28 \xa0\xa1"})
    write_source(settings, "office", {"flood.md": FLOOD})

    result = ingest(settings, instance, "notes")

    assert result.success
    path, status, error = cells(metadata_of(result, "raw_documents")["failures"])[3:]
    assert (path, status, error[:15]) == ("broken.txt", "failed", "not valid UTF-8")
    failed = failed_checks(result)
    assert set(failed) == {"accepted"}
    assert failed["accepted"].severity is dg.AssetCheckSeverity.ERROR
    counted = {name: value.value for name, value in failed["accepted"].metadata.items()}
    assert (counted["failed_documents"], counted["documents: failed"], counted["documents: skipped"]) == (0.5, 1, 0)
    assert "max_failed_share allows; broken.txt: not valid UTF-8" in str(failed["accepted"].metadata["reason"].value)
    assert accepted(Home(settings.home), "notes") is None

    # A healthy source does not turn a sick one green.
    assert failed_checks(ingest(settings, instance, "office")) == {}
    more = settings.model_copy(update={"documents": DocumentSettings(max_failed_share=0.5)})
    assert failed_checks(ingest(more, instance, "notes")) == {}
    assert accepted(Home(settings.home), "notes") is not None


@pytest.mark.long
def test_rows_that_cannot_be_used_are_metadata_and_a_check(
    settings: Settings, instance: dg.DagsterInstance, loopback: Loopback
) -> None:
    loopback.chat = lambda body: f"relation<|#|>A<|#|>\nentity<|#|>A\nentity<|#|>B\n{offline_answer(body)}"
    asking = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"}, extraction={"gleaning": 0})
    write_source(asking, "notes", {"river.md": RIVER})
    result = ingest(asking, instance, "notes")
    (event,) = [
        one
        for one in result.asset_materializations_for_node("mentions")
        if one.asset_key and one.asset_key.path == ["parsed"]
    ]
    metadata = {name: value.value for name, value in event.metadata.items()}
    assert (metadata["rejected_rows"], metadata["reasons"]) == (3, {"entity with 2 of 4 fields": 1})
    failed = failed_checks(result)
    assert set(failed) == {"accepted"}
    assert failed["accepted"].metadata["rows of answers: rejected"].value == 3
    assert "more than the 10.0% that extraction" in str(failed["accepted"].description)
    more = asking.changed(extraction={"max_rejected_share": 0.3})
    assert failed_checks(ingest(more, instance, "notes")) == {}


def test_names_that_are_not_in_the_text_are_a_check(
    settings: Settings, instance: dg.DagsterInstance, loopback: Loopback
) -> None:
    invented = "".join(f"entity<|#|>Atlantis {number}<|#|>place<|#|>It sank.\n" for number in range(20))
    loopback.chat = lambda body: f"{invented}{offline_answer(body)}"
    asking = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"}, extraction={"gleaning": 0})
    write_source(asking, "notes", {"river.md": RIVER})
    failed = failed_checks(ingest(asking, instance, "notes"))
    assert set(failed) == {"names_grounded"}
    assert failed["names_grounded"].severity is dg.AssetCheckSeverity.WARN
    recipe = Recipes.of(asking).extractions
    counted: dict[str, Any] = {name: one.value for name, one in failed["names_grounded"].metadata.items()}
    names, share = counted[f"names/{recipe}"], counted[f"share/{recipe}"]
    assert share == pytest.approx(1 - 20 / names)
    assert failed["names_grounded"].description == f"20 of {names} names that recipe {recipe} gave are not in the text"


def test_a_source_that_is_not_configured_fails_with_a_reason(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    result = ingest(settings, instance, "absent")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "no such source: absent" in str(failure.step_failure_data.error)


@pytest.mark.long
def test_a_backfill_is_a_job_of_its_own(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    assert ingest(settings, instance, "notes").success
    old = Recipes.of(settings).extractions
    german = load_settings(home=settings.home, sources=settings.sources, language="German")

    kept = ingest(german, instance, "notes")

    (materialised,) = kept.asset_materializations_for_node("extractions")
    assert (materialised.tags or {})["dagster/code_version"] == old
    assert (metadata_of(kept, "extractions")["kept"], metadata_of(kept, "extractions")["outdated"]) == (1, 1)

    made = ingest(german, instance, "notes", "backfill")

    assert (metadata_of(made, "extractions")["kept"], metadata_of(made, "extractions")["outdated"]) == (0, 0)
    (materialised,) = made.asset_materializations_for_node("extractions")
    assert (materialised.tags or {})["dagster/code_version"] == Recipes.of(german).extractions
    assert failed_checks(made) == {}
    record = accepted(Home(settings.home), "notes")
    assert record is not None
    assert record.tables["extractions"] == SourceTables(Home(settings.home)).require("extractions", "notes").version


def test_nothing_can_be_overridden_in_the_launchpad(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    overridden = {"lightrag": {"config": {"settings": {"language": "German"}}}}
    definition: Any = build_definitions(settings).resolve_job_def("ingest")
    schema = definition.run_config_schema.config_type.fields["resources"].config_type.fields
    typed = {
        name
        for name, field in schema.items()
        if getattr(field.config_type.fields["config"].config_type, "fields", None)
    }
    assert typed <= {"io_manager", "knowledge_base"}

    ingest(settings, instance, "notes", run_config={"resources": overridden})

    tables, recipe = SourceTables(Home(settings.home)), Recipes.of(settings).extractions
    assert tables.require("extractions", "notes").counts["recipe"] == {recipe: 1}
    assert LightRAG(settings).settings.language == "English"


@pytest.fixture
def by_batch(settings: Settings, loopback: Loopback) -> Settings:
    loopback.chat = offline_answer
    llm = {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"}
    return load_settings(home=settings.home, sources=settings.sources, llm=llm)


def requested(instance: dg.DagsterInstance, settings: Settings) -> list[dg.RunRequest]:
    """Return the runs that the sensor asks for."""
    made = batches(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
    return made if isinstance(made, list) else []


def steps(result: dg.ExecuteInProcessResult, kind: dg.DagsterEventType) -> set[str]:
    return {event.step_key for event in result.all_events if event.event_type is kind and event.step_key}


@pytest.mark.long
def test_runs_submit_and_end_and_the_sensor_resumes_them(
    instance: dg.DagsterInstance, by_batch: Settings, loopback: Loopback
) -> None:
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    write_source(by_batch, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    assert requested(instance, by_batch) == []

    first = ingest(by_batch, instance, "notes")

    assert first.success
    assert "mentions" in steps(first, dg.DagsterEventType.STEP_SKIPPED)
    # Nothing was measured, so no check passes.
    checks = {check.check_name for check in first.get_asset_check_evaluations()}
    assert checks == {"words_read", "types_known"}
    assert not first.asset_materializations_for_node("extractions")
    assert accepted(Home(by_batch.home), "notes") is None
    runs = []
    for _ in range(10):
        for request in requested(instance, by_batch):
            assert (request.partition_key, request.job_name) == ("notes", "ingest")
            assert request.tags[ACCOUNT_TAG] == first.run_id
            runs.append(ingest(by_batch, instance, "notes", tags=request.tags))
    assert len(runs) == 2  # what was gleaned was a batch of its own
    assert requested(instance, by_batch) == []
    (materialised,) = runs[-1].asset_materializations_for_node("extractions")
    assert materialised.metadata["answers_cost_usd"].value == pytest.approx(2 * 0.0000135)
    assert accepted(Home(by_batch.home), "notes") is not None
    assert len(loopback.batches.asked()) == 2


@pytest.mark.parametrize(
    ("fault", "due", "why"),
    [
        ("key", ["notes", "wiki"], "(HTTP 401"),
        ("gone", ["notes"], "has no batch batch_0"),
        ("host", ["notes", "wiki"], "set llm.base_url or OPENAI_BASE_URL to that host again"),
    ],
)
def test_of_batches_that_the_provider_does_not_tell_of_a_run_says_why(
    instance: dg.DagsterInstance,
    by_batch: Settings,
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    due: list[str],
    why: str,
) -> None:
    """Else their sources would wait for ever without a word, and one batch that is gone would stop the others."""
    loopback.batches.spoil = lambda batch: Fate(looks=1000)
    for name, text in (("notes", RIVER), ("wiki", FLOOD)):
        write_source(by_batch, name, {"text.md": text})
        instance.add_dynamic_partitions("source", [name])
        assert ingest(by_batch, instance, name).success
    home, submitted = Home(by_batch.home), dict(loopback.batches.batches)
    monkeypatch.setattr(waiting, "LONGEST_SILENCE", 0.0)
    monkeypatch.setattr(batches_module, "RECENT_SECONDS", 0.0)
    assert requested(instance, by_batch) == []
    with monkeypatch.context() as broken:
        if fault == "key":
            loopback.fault = lambda received: Reply.error(401)
        elif fault == "gone":
            del loopback.batches.batches["batch_0"]
        else:
            broken.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        assert [one.partition_key for one in requested(instance, by_batch)] == due
        assert not ingest(by_batch, instance, "notes").success
        assert ingest(by_batch, instance, "wiki").success == ("wiki" not in due)
        lines = failing(home, pending(Situation.looking(by_batch)))
        assert [line for line in lines if why not in line] == []
        assert len(lines) == (2 if fault == "host" else 1)
    loopback.fault, loopback.batches.batches = (lambda received: None), submitted
    assert all(ingest(by_batch, instance, name).success for name in ("notes", "wiki"))
    assert failing(home, pending(Situation.looking(by_batch))) == []


@pytest.mark.long
def test_a_batch_of_answers_that_cannot_be_used_is_asked_once_more(
    instance: dg.DagsterInstance, by_batch: Settings, loopback: Loopback
) -> None:
    loopback.chat = lambda body: "entity<|#|>\nrelation<|#|>A<|#|>\n<|COMPLETE|>"
    write_source(by_batch, "notes", {"river.md": RIVER})
    for _ in range(4):
        ingest(by_batch, instance, "notes")
    assert len(loopback.batches.asked()) == 2
    extractions = SourceTables(Home(by_batch.home)).require("extractions", "notes")
    assert extractions.counts["error_kind"] == {"permanent": 1}


@pytest.mark.long
def test_a_backfill_that_waits_for_batches_replaces_nothing_and_is_resumed(
    instance: dg.DagsterInstance, by_batch: Settings, loopback: Loopback, tmp_path: Path
) -> None:
    write_source(by_batch, "notes", {"river.md": RIVER})
    for _ in range(3):
        ingest(by_batch, instance, "notes")
    before = accepted(Home(by_batch.home), "notes")
    assert before is not None
    german = load_settings(
        home=by_batch.home,
        sources=by_batch.sources,
        llm=by_batch.llm.model_dump(),
        extraction={"answer_format": "json_object"},
    )
    loopback.batches.spoil = lambda batch: Fate(looks=1)

    ingest(german, instance, "notes", "backfill")

    assert accepted(Home(by_batch.home), "notes") == before
    for _ in range(10):
        for request in requested(instance, german):
            assert request.job_name == "backfill"
            ingest(german, instance, "notes", request.job_name, tags=request.tags)
    assert accepted(Home(by_batch.home), "notes") != before
    tables = SourceTables(Home(by_batch.home))
    assert tables.require("extractions", "notes").outdated(Recipes.of(german).extractions) == 0
    assert not tables.has_candidate("notes")


@pytest.mark.long
def test_what_was_accepted_stays_until_the_batch_is_done(instance: dg.DagsterInstance, by_batch: Settings) -> None:
    write_source(by_batch, "notes", {"river.md": RIVER})
    for _ in range(3):
        ingest(by_batch, instance, "notes")
    before = accepted(Home(by_batch.home), "notes")
    assert before is not None

    write_source(by_batch, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    ingest(by_batch, instance, "notes")

    assert accepted(Home(by_batch.home), "notes") == before
    for _ in range(2):
        ingest(by_batch, instance, "notes")
    assert accepted(Home(by_batch.home), "notes") != before


@pytest.mark.long
def test_real_time_does_not_buy_what_a_batch_is_about_to_answer(
    instance: dg.DagsterInstance, by_batch: Settings, loopback: Loopback
) -> None:
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    write_source(by_batch, "notes", {"river.md": RIVER})
    ingest(by_batch, instance, "notes")
    real_time = by_batch.model_copy(update={"llm": by_batch.llm.model_copy(update={"mode": "realtime"})})
    refused = ingest(real_time, instance, "notes")
    (failure,) = [event for event in refused.all_events if event.is_step_failure]
    assert SettingsError.__name__ in str(failure.step_failure_data.error)
    assert "source 'notes' waits for batches" in str(failure.step_failure_data.error)
    for _ in range(4):
        ingest(by_batch, instance, "notes")
    assert ingest(real_time, instance, "notes").success
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions")]
