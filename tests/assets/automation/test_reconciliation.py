"""Sources that a run left half ingested, and runs that were killed."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from assets import INGESTION
from assets.automation.reconciliation import left_behind, reconcile
from assets.automation.runs import end_orphans
from assets.automation.values import MOST_FAILURES_A_DAY
from assets.metadata import COMMAND_TAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from resources import build_resources
from tests.storage.test_lock import hold
from tests.support import FLOOD, RIVER, write_source


def ingest(settings: Settings, instance: dg.DagsterInstance, source: str, *assets: str) -> None:
    """Materialise some assets of a source, or all."""
    instance.add_dynamic_partitions("source", [source])
    selection = dg.AssetSelection.assets(*assets) if assets else None
    resources = build_resources(settings)
    assert dg.materialize(
        INGESTION, partition_key=source, instance=instance, resources=resources, selection=selection
    ).success


def pretend(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus, tags: dict[str, str], *, launched: bool = False
) -> str:
    """Record a run of a status, which nobody executes; `launched` as by the daemon."""

    @dg.job
    def nothing() -> None: ...

    location = RegisteredCodeLocationOrigin("lightrag_dagster")
    origin = RemoteJobOrigin(RemoteRepositoryOrigin(location, "__repository__"), "nothing") if launched else None
    return instance.create_run_for_job(nothing, status=status, tags=tags, remote_job_origin=origin).run_id


def test_a_source_whose_run_failed_half_way_is_finished(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    instance.add_dynamic_partitions("source", ["notes", "office"])
    assert left_behind(settings, instance) == []  # nobody began them

    ingest(settings, instance, "notes", "raw_documents", "chunks")
    ingest(settings, instance, "office")

    assert left_behind(settings, instance) == ["notes"]
    requests = reconcile(dg.build_sensor_context(instance), settings=settings)
    assert isinstance(requests, list)
    assert [request.partition_key for request in requests] == ["notes"]
    assert requests[0].tags["lightrag/drift"] == "keep"
    ingest(settings, instance, "notes")
    assert left_behind(settings, instance) == []
    # A changed file is for the nightly schedule.
    write_source(settings, "notes", {"river.md": FLOOD})
    assert left_behind(settings, instance) == []


@pytest.mark.parametrize(
    ("status", "runs", "left"),
    [
        (dg.DagsterRunStatus.STARTED, 1, []),
        (dg.DagsterRunStatus.QUEUED, 1, []),
        (dg.DagsterRunStatus.FAILURE, MOST_FAILURES_A_DAY - 1, ["notes"]),
        (dg.DagsterRunStatus.FAILURE, MOST_FAILURES_A_DAY, []),
    ],
)
def test_a_source_under_way_or_hopeless_is_left_alone(
    settings: Settings, instance: dg.DagsterInstance, status: dg.DagsterRunStatus, runs: int, left: list[str]
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    ingest(settings, instance, "notes", "raw_documents")
    for _ in range(runs):
        pretend(instance, status, {"dagster/partition": "notes"}, launched=True)
    assert left_behind(settings, instance) == left


def test_runs_of_a_killed_command_end(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    command = pretend(instance, dg.DagsterRunStatus.STARTED, {COMMAND_TAG: "one"})
    # The sensor `batches` goes on with what a command began, under its tags.
    daemon = pretend(instance, dg.DagsterRunStatus.STARTED, {COMMAND_TAG: "one"}, launched=True)

    def status(run_id: str) -> dg.DagsterRunStatus:
        run = instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    holder = hold(Home(tmp_path))
    end_orphans(instance, Home(tmp_path))
    assert status(command) is dg.DagsterRunStatus.STARTED
    holder.communicate("")
    end_orphans(instance, Home(tmp_path))
    assert status(command) is dg.DagsterRunStatus.FAILURE
    assert status(daemon) is dg.DagsterRunStatus.STARTED
