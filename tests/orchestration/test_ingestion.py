"""Many sources in one run: what Dagster shows of each is what a run of its own would show."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import DATA_VERSION_TAG, CachingStaleStatusResolver
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.events import DagsterEventType
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value
from rich.console import Console

from lightrag_dagster.assets import INGESTION
from lightrag_dagster.assets.jobs import OF_PASSES
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.ingestion import Ingestion
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.jobs import open_jobs
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer
from tests.support import FLOOD, OFFICE, RIVER, published, run, write_source

MADE, TIMES = DagsterEventType.ASSET_MATERIALIZATION, ("seconds", "slowest")
POINTER = "dagster/input_event_pointer/"
INGESTED = [name for step in INGESTION if step.name not in OF_PASSES for name in step.assets]


def ingest(settings: Settings, *names: str) -> tuple[list[str], dict[str, str]]:
    sources = find_sources(settings)
    with display(Console(quiet=True)) as view, open_jobs(settings, view, "run") as jobs:
        done = jobs.ingest([sources[name] for name in names or sources], backfill=False)
    return done.done, done.failed


def alone(settings: Settings, source: str) -> None:
    with open_instance(Home(settings.home)) as instance:
        instance.add_dynamic_partitions("source", [source])
        job = build_definitions(settings).resolve_job_def("ingest")
        job.execute_in_process(instance=instance, partition_key=source, raise_on_error=False)


def shown(settings: Settings, source: str) -> dict[str, Any]:
    """Return what Dagster knows of each table of a source, and of its checks, except when and how long.

    An event that a tag points at is named by its table.
    """
    found, events = dict[str, Any](), {"NULL": "none", "1": "upstream"}
    with open_instance(Home(settings.home)) as instance:
        for asset in INGESTED:
            chosen = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[source])
            [record] = instance.fetch_materializations(chosen, limit=1).records
            made, events[str(record.storage_id)] = record.asset_materialization, asset
            assert made is not None
            tags = {name: events[value] if POINTER in name else value for name, value in (made.tags or {}).items()}
            found[asset] = tags, {name: one for name, one in made.metadata.items() if name not in TIMES}
        run = instance.get_runs(limit=1)[0]
        for entry in instance.all_logs(run.run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION):
            check = entry.get_dagster_event().asset_check_evaluation_data
            if check.partition == source:
                target = check.target_materialization_data
                assert target is not None
                of = check.asset_key, events[str(target.storage_id)], target.run_id == entry.run_id
                found[check.check_name] = check.passed, check.severity, check.metadata, of
    return found


def versions(settings: Settings, asset: str) -> dict[str, str]:
    with open_instance(Home(settings.home)) as instance:
        tags = instance.event_log_storage.get_latest_tags_by_partition(dg.AssetKey(asset), MADE, [DATA_VERSION_TAG])
    return {source: one[DATA_VERSION_TAG] for source, one in tags.items()}


def failed(settings: Settings, asset: str) -> set[str]:
    """Return the sources at which the UI shows that an asset failed."""
    with open_instance(Home(settings.home)) as instance:
        key, sources = dg.AssetKey(asset), Namespace().sources
        status = get_and_update_asset_status_cache_value(instance, key, sources)
        assert status is not None
        return set(status.deserialize_failed_partition_subsets(sources).get_partition_keys())


def states(settings: Settings) -> dict[str, set[str]]:
    """Return the states of each source's tables, by which Dagster shows what is stale."""
    graph = build_definitions(settings).resolve_asset_graph()
    with open_instance(Home(settings.home)) as instance:
        resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
        return {
            source: {resolver.get_status(dg.AssetKey(asset), source).value for asset in INGESTED}
            for source in instance.get_dynamic_partitions("source")
        }


@pytest.mark.parametrize("known", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_source_is_shown_as_after_a_run_of_its_own(settings: Settings, tmp_path: Path, *, known: bool) -> None:
    folder = tmp_path / "share"
    folder.mkdir()
    (folder / "river.md").write_text(RIVER)
    (folder / "broken.txt").write_bytes(b"\xc3\x28")
    named = {"notes": SourceSettings(uri=str(folder), asset="crawl/notes")}
    settings = settings.model_copy(update={"named_sources": named})
    other = settings.model_copy(update={"home": settings.home.with_name("other")})
    for one in (settings, other) if known else ():
        with open_instance(Home(one.home)) as instance:
            crawled = dg.AssetMaterialization(["crawl", "notes"], tags={DATA_VERSION_TAG: "seven"})
            instance.report_runless_asset_event(crawled)
    assert ingest(settings) == (["notes"], {})
    alone(other, "notes")
    assert shown(settings, "notes") == shown(other, "notes")
    tags = shown(settings, "notes")["raw_documents"][0]
    version = tags["dagster/input_data_version/crawl/notes"], tags[f"{POINTER}crawl/notes"]
    assert version == (("seven", "upstream") if known else ("INITIAL", "none"))


def checked(settings: Settings, asset: str, check: str) -> dict[str, set[str]]:
    """Return the sources at which the UI shows the states of a check."""
    key = dg.AssetCheckKey(dg.AssetKey(asset), check)
    with open_instance(Home(settings.home)) as instance, partition_loading_context(dynamic_partitions_store=instance):
        state = instance.event_log_storage.get_asset_check_state([(key, Namespace().sources)])[key]
        found = {status.value: subset.subset_value.get_partition_keys() for status, subset in state.subsets.items()}
        return {status: set(sources) for status, sources in found.items() if sources}


@pytest.mark.long
def test_a_check_is_shown_at_each_source(settings: Settings) -> None:
    write_source(settings, "good", {"river.md": RIVER})
    write_source(settings, "bad", {"office.md": OFFICE, "a.txt": b"\xc3\x28", "b.txt": b"\xc3\x28"})
    assert "bad" in run(settings).rejected
    assert checked(settings, "entity_mentions", "accepted") == {"SUCCEEDED": {"good"}, "FAILED": {"bad"}}
    assert checked(settings, "extractions", "outdated") == {"SUCCEEDED": {"good", "bad"}}

    edited = settings.changed(language="German")
    with open_instance(Home(settings.home)) as instance:
        job = build_definitions(edited).resolve_job_def("report")
        assert job.execute_in_process(instance=instance).success
    assert checked(settings, "extractions", "outdated") == {"FAILED": {"good", "bad"}}
    assert checked(settings, "entity_mentions", "accepted") == {"SUCCEEDED": {"good"}, "FAILED": {"bad"}}


@pytest.mark.long
def test_a_source_is_updated_or_fails_alone(settings: Settings) -> None:
    write_source(settings, "good", {"river.md": RIVER})
    write_source(settings, "lost", {"flood.md": FLOOD})
    write_source(settings, "same", {"office.md": OFFICE})
    assert ingest(settings) == (["good", "lost", "same"], {})
    before = {asset: versions(settings, asset) for asset in INGESTED}
    assert states(settings) == {source: {"FRESH"} for source in ("good", "lost", "same")}

    write_source(settings, "good", {"river.md": f"{RIVER} Priya Nair lives in Oslo."})
    write_source(settings, "lost", {})
    done, reasons = ingest(settings)
    assert (done, list(reasons)) == (["good"], ["lost"])
    assert "lost 1 of 1 documents" in reasons["lost"]
    for asset in INGESTED:
        now = versions(settings, asset)
        assert {source for source in now if now[source] != before[asset][source]} == {"good"}, asset
        assert failed(settings, asset) == {"lost"}, asset
    assert states(settings)["good"] == states(settings)["same"] == {"FRESH"}
    with open_instance(Home(settings.home)) as instance:
        alone, run = instance.get_runs(limit=2)
        assert (alone.job_name, alone.tags["dagster/partition"]) == ("ingest", "lost")
        (entry,) = instance.all_logs(alone.run_id, of_type=DagsterEventType.PIPELINE_FAILURE)
        assert entry.message == reasons["lost"]
        assert alone.status is run.status is dg.DagsterRunStatus.FAILURE
        (entry,) = instance.all_logs(run.run_id, of_type=DagsterEventType.STEP_FAILURE)
        assert "1 of 3 sources failed, the others did not: lost: source 'lost'" in str(
            entry.get_dagster_event().step_failure_data
        )

    write_source(settings, "lost", {"flood.md": FLOOD + " It rained."})
    assert ingest(settings) == (["lost"], {})
    assert not any(failed(settings, asset) for asset in INGESTED)


@pytest.mark.long
def test_a_source_that_cannot_be_listed_is_red_and_costs_itself_alone(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "share"
    folder.mkdir()
    (folder / "flood.md").write_text(FLOOD)
    settings = settings.model_copy(update={"named_sources": {"away": SourceSettings(uri=str(folder))}})
    write_source(settings, "good", {"river.md": RIVER})
    assert run(settings).failed == {}

    folder.rename(tmp_path / "elsewhere")  # as a mount that is lost, and nothing else to do
    outcome = run(settings)
    assert (outcome.ingested, list(outcome.failed)) == ([], ["away"])
    assert "cannot be listed" in outcome.failed["away"]
    for asset in INGESTED:
        assert failed(settings, asset) == {"away"}, asset
    assert list(published(settings).inputs.sources) == ["away", "good"]
    with open_instance(Home(settings.home)) as instance:
        assert instance.get_runs(limit=1)[0].status is dg.DagsterRunStatus.FAILURE
    assert run(settings, "good").failed == {}

    (tmp_path / "elsewhere").rename(folder)
    (folder / "flood.md").write_text(f"{FLOOD} It rained.")
    assert run(settings).failed == {}
    assert not any(failed(settings, asset) for asset in INGESTED)


@pytest.mark.long
def test_sources_are_checked_together_and_a_damaged_one_fails_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("good", RIVER), ("lost", FLOOD), ("same", OFFICE)):
        write_source(settings, name, {f"{name}.md": text})
    tables, check = SourceTables(Home(settings.home)), Ingestion._check_together

    def damaged(self: Ingestion, context: dg.OpExecutionContext) -> None:
        tables.paths("chunks", "lost", tables.require("chunks", "lost").version)[0].write_bytes(b"")
        check(self, context)

    monkeypatch.setattr(Ingestion, "_check_together", damaged)
    done, reasons = ingest(settings)
    assert (done, list(reasons)) == (["good", "same"], ["lost"])
    assert "names_grounded" not in shown(settings, "lost")
    for name in ("good", "same"):
        assert shown(settings, name)["names_grounded"][0]


@pytest.mark.long
def test_an_error_that_ends_the_command_fails_its_source_alone(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = offline_answer
    asking = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0})
    write_source(asking, "first", {"river.md": RIVER})
    write_source(asking, "second", {"flood.md": FLOOD})
    write_source(asking, "third", {"office.md": OFFICE})
    loopback.fault = lambda received: Reply.error(401) if "flood" in str(received) else None
    with pytest.raises(ProviderAccessError):
        ingest(asking)
    assert failed(asking, "raw_documents") == set()
    assert failed(asking, "extractions") == {"second"}
    assert set(versions(asking, "raw_documents")) == {"first", "second"}
    loopback.fault = lambda received: None
    assert ingest(asking) == (["second", "third"], {})
    assert failed(asking, "extractions") == set()
