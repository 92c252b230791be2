"""Runs that are under way, and those that were killed."""

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemotePartitionSetOrigin, RemoteRepositoryOrigin

from lightrag_dagster.assets import runs
from lightrag_dagster.assets.metadata import COMMAND_TAG
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.runs import building_under_way, end_orphans, is_of
from lightrag_dagster.storage.home import Home
from tests.assets.runs import pretend
from tests.storage.test_locking import hold

_STEPS = {
    "ingest": {"raw_documents", "chunks"},
    "backfill": {"ingest_sources"},  # as a command has it
    "publish": {"merged", "knowledge_base"},
    "report": {"status_report"},
    "finance_ingest": {"finance_raw_documents", "finance_chunks"},
    "weekly": {"chunks", "extractions", "theirs"},
    "theirs": {"chunks", "theirs"},
}


@pytest.mark.parametrize(
    ("job", "assets", "status", "under_way"),
    [
        ("ingest", set(), dg.DagsterRunStatus.STARTED, True),
        ("backfill", set(), dg.DagsterRunStatus.QUEUED, True),
        ("publish", set(), dg.DagsterRunStatus.STARTING, True),
        ("publish", set(), dg.DagsterRunStatus.SUCCESS, False),
        ("__ASSET_JOB", {"extractions"}, dg.DagsterRunStatus.STARTED, True),
        ("__ASSET_JOB", {"entities", "other"}, dg.DagsterRunStatus.QUEUED, True),
        ("__ASSET_JOB", {"answers"}, dg.DagsterRunStatus.STARTED, False),
        ("__ASSET_JOB", {"extractions"}, dg.DagsterRunStatus.FAILURE, False),
        ("report", set(), dg.DagsterRunStatus.STARTED, False),
        ("weekly", set(), dg.DagsterRunStatus.STARTED, True),  # a project's own job, with our assets
        ("theirs", set(), dg.DagsterRunStatus.STARTED, False),  # a step of the name may be another location's
        ("finance_ingest", set(), dg.DagsterRunStatus.STARTED, False),
        ("__ASSET_JOB", {"finance/extractions"}, dg.DagsterRunStatus.STARTED, False),
    ],
)
def test_what_is_built_counts_not_the_name_of_the_job(
    instance: dg.DagsterInstance, job: str, assets: set[str], status: dg.DagsterRunStatus, under_way: bool
) -> None:
    pretend(instance, status, job=job, assets=assets, steps=_STEPS.get(job, set()), launched=True)
    assert building_under_way(instance, Namespace()) is under_way


@pytest.mark.parametrize(("asset", "ours"), [("contracts/entity_mentions", True), ("entity_mentions", False)])
def test_a_check_that_is_run_alone_is_a_run_of_its_assets(instance: dg.DagsterInstance, asset: str, ours: bool) -> None:
    check = dg.AssetCheckKey(dg.AssetKey(asset.split("/")), "accepted")
    run = dg.DagsterRun("__ASSET_JOB", asset_selection=frozenset(), asset_check_selection=frozenset([check]))
    assert is_of(instance, Namespace("contracts"), run) is ours


@pytest.mark.parametrize(
    ("job", "steps", "ours"),
    [
        ("contracts_weekly", {"contracts_chunks", "theirs"}, True),
        ("contracts_ask", {"contracts_answers"}, True),
        ("contracts_ask", {"answers"}, False),
        ("weekly", {"chunks", "extractions"}, False),
    ],
)
def test_a_job_of_a_project_is_ours_by_its_steps(
    instance: dg.DagsterInstance, job: str, steps: set[str], ours: bool
) -> None:
    pretend(instance, dg.DagsterRunStatus.SUCCESS, job=job, steps=steps)
    (run,) = instance.get_runs()
    assert is_of(instance, Namespace("contracts"), run) is ours


def test_a_run_that_may_have_died_unseen_holds_no_publication_up(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of *Materialize* whose machine went down: it has none of our tags, and Dagster counts it as running."""
    pretend(instance, dg.DagsterRunStatus.STARTED, job="__ASSET_JOB", assets={"extractions"}, launched=True)
    assert building_under_way(instance, Namespace())
    monkeypatch.setattr(runs, "HANGS", -timedelta(seconds=2))
    assert not building_under_way(instance, Namespace())


@pytest.mark.parametrize(
    ("assets", "status", "under_way"),
    [
        (["chunks", "extractions"], BulkActionStatus.REQUESTED, True),
        (["chunks"], BulkActionStatus.CANCELING, True),
        (["chunks"], BulkActionStatus.FAILING, True),  # its runs are cancelled first
        (["chunks"], BulkActionStatus.COMPLETED_SUCCESS, False),
        (["answers"], BulkActionStatus.REQUESTED, False),
        (["finance/chunks"], BulkActionStatus.REQUESTED, False),
    ],
)
def test_a_backfill_counts_between_its_runs_too(
    instance: dg.DagsterInstance, assets: list[str], status: BulkActionStatus, under_way: bool
) -> None:
    instance.add_backfill(
        PartitionBackfill(
            "one",
            status=status,
            from_failure=False,
            tags={},
            backfill_timestamp=0.0,
            asset_selection=[dg.AssetKey(name.split("/")) for name in assets],
        )
    )
    assert building_under_way(instance, Namespace()) is under_way


@pytest.mark.parametrize(
    ("job", "under_way"), [("backfill", True), ("ingest", True), ("prices", False), ("manuals_backfill", False)]
)
def test_a_backfill_of_another_job_holds_no_publication_up(
    instance: dg.DagsterInstance, job: str, under_way: bool
) -> None:
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("company"), "__repository__")
    instance.add_backfill(
        PartitionBackfill(
            "one",
            status=BulkActionStatus.REQUESTED,
            from_failure=False,
            tags={},
            backfill_timestamp=0.0,
            partition_set_origin=RemotePartitionSetOrigin(
                repository_origin=repository, partition_set_name=f"{job}_partition_set"
            ),
            partition_names=["notes"],
        )
    )
    assert building_under_way(instance, Namespace()) is under_way


def test_runs_of_a_killed_command_end(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    command = pretend(instance, dg.DagsterRunStatus.STARTED, {COMMAND_TAG: "one"}, job="ingest")
    other = pretend(instance, dg.DagsterRunStatus.STARTED, {COMMAND_TAG: "one"}, job="finance_ingest")
    # The sensor `batches` continues what a command began, under its tag.
    daemon = pretend(instance, dg.DagsterRunStatus.STARTED, {COMMAND_TAG: "one"}, job="ingest", launched=True)

    def status(run_id: str) -> dg.DagsterRunStatus:
        run = instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    holder = hold(Home(tmp_path))
    assert not end_orphans(instance, Home(tmp_path), Namespace())
    assert status(command) is dg.DagsterRunStatus.STARTED
    holder.communicate("")
    assert end_orphans(instance, Home(tmp_path), Namespace())
    assert status(command) is dg.DagsterRunStatus.FAILURE
    assert {status(run) for run in (other, daemon)} == {dg.DagsterRunStatus.STARTED}
