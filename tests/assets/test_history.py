"""The history of runs: forgotten by a purge, pruned by age."""

import sqlite3
import warnings
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console

from benchmarks.nights import age_runs
from lightrag_dagster.assets.history import forget_runs, prune_daily, prune_runs
from lightrag_dagster.assets.metadata import ACCOUNT_TAG
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.runs import under_way
from lightrag_dagster.assets.sensors import publish_accepted
from lightrag_dagster.cli.progress import display
from lightrag_dagster.orchestration.jobs import open_jobs
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.assets.runs import pretend

PARTITIONS = dg.StaticPartitionsDefinition(["notes", "letters"])
KEY = dg.AssetKey("raw_documents")


@dg.asset(partitions_def=PARTITIONS)
def raw_documents() -> None:
    pass


def test_runs_of_others_are_not_forgotten(instance: dg.DagsterInstance) -> None:
    ended = dg.DagsterRunStatus.SUCCESS
    gone = {pretend(instance, ended, job="__ASSET_JOB", assets={name}) for name in ("extractions", "answers")}
    kept = {
        pretend(instance, ended, job="__ASSET_JOB", assets={"finance/extractions"}),
        pretend(instance, ended, job="ingest"),  # of another code location: it has none of our steps
        pretend(instance, ended, {ACCOUNT_TAG: "one"}, job="__ASSET_JOB", assets={"status_report"}),
    }
    assert not under_way(instance, Namespace())
    kept |= {pretend(instance, dg.DagsterRunStatus.STARTED, job="__ASSET_JOB", assets={"chunks"})}
    assert under_way(instance, Namespace())
    assert forget_runs(instance, Namespace(), "one") == len(gone)
    assert {run.run_id for run in instance.get_runs()} == kept


@pytest.fixture(scope="module")
def job() -> dg.JobDefinition:
    """A job of our name and steps, which does nothing."""
    chosen = dg.define_asset_job("ingest", selection=[KEY])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)

        @dg.asset_check(asset=KEY, partitions_def=PARTITIONS)
        def accepted() -> dg.AssetCheckResult:
            return dg.AssetCheckResult(passed=True)

        return dg.Definitions([raw_documents], asset_checks=[accepted], jobs=[chosen]).resolve_job_def("ingest")


@pytest.mark.long
def test_old_runs_go_except_the_last_of_each_partition(job: dg.JobDefinition, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.own_dagster.mkdir(parents=True)
    with dg.DagsterInstance.local_temp(str(home.own_dagster)) as instance:

        def night(source: str) -> str:
            return job.execute_in_process(partition_key=source, instance=instance).run_id

        old = [night("notes"), night("letters"), night("notes")]
        other = pretend(instance, dg.DagsterRunStatus.SUCCESS, job="finance_ingest")
        running = pretend(instance, dg.DagsterRunStatus.STARTED, job="__ASSET_JOB", assets={"chunks"})
        age_runs(home, 15)
        recent = night("notes")
        check = dg.AssetCheckKey(KEY, "accepted")
        checked = instance.event_log_storage.get_latest_asset_check_execution_by_key([check])[check]
        storage = instance.event_log_storage

        def prune(days: float, **options: bool) -> int:
            return prune_runs(instance, home, Namespace(), days, **options)

        assert prune(30) == 0
        assert prune(14, dry_run=True) == 2
        assert instance.get_run_by_id(old[0])
        assert prune_runs(instance, Home(tmp_path / "elsewhere"), Namespace(), 14) == 0
        assert prune(14) == 2
        assert prune(14) == 0

        assert {run.run_id for run in instance.get_runs()} == {old[1], other, running, recent}
        assert set(instance.get_materialized_partitions(KEY)) == {"notes", "letters"}
        assert storage.get_latest_asset_check_execution_by_key([check])[check] == checked
        runs = [one.run_id for one in storage.get_asset_check_execution_history(check, limit=10)]
        assert runs == [recent, old[1]]
        files = {path.name for path in (home.own_dagster / "history" / "runs").iterdir()}
        assert not any(name.startswith((old[0], old[2])) for name in files)
        assert f"{old[1]}.db" in files


def test_runs_are_pruned_once_a_day_and_only_where_settings_allow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = Home(tmp_path)
    home.own_dagster.mkdir()
    with dg.DagsterInstance.local_temp(str(home.own_dagster)) as instance:

        def old_run() -> None:
            pretend(instance, dg.DagsterRunStatus.SUCCESS, job="__ASSET_JOB", assets={"status_report"})
            age_runs(home, 15)

        def prune(*, automatic: bool = True) -> int:
            said = prune_daily(instance, home, Namespace(), RetentionSettings(automatic=automatic))
            return int(said.split()[4]) if said else 0

        old_run()
        old_run()  # the last one stays
        assert prune(automatic=False) == 0
        assert prune() == 1
        old_run()
        assert prune() == 1, "a day has passed"
        pretend(instance, dg.DagsterRunStatus.FAILURE, job="__ASSET_JOB", assets={"status_report"})
        assert prune() == 0
        old_run()
        monkeypatch.setattr("lightrag_dagster.assets.history._MOST", 1)
        assert [prune(), prune(), prune()] == [1, 1, 0], "a bit at a time"
        old_run()
        before = len(instance.get_runs())
        lightrag = LightRAG(load_settings(home=home.root, sources=tmp_path))
        publish_accepted(dg.build_sensor_context(instance), lightrag=lightrag)
        assert len(instance.get_runs()) == before - 1, "the daemon does it too"


def test_a_history_that_cannot_be_pruned_stops_no_publication(
    monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance, settings: Settings
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr("lightrag_dagster.assets.history.prune_runs", refuse)
    with display(Console(quiet=True)) as shown, open_jobs(settings, shown, "run") as jobs:
        said = jobs.prune()
    assert said == "old runs were not deleted from Dagster's history: database is locked; the next run tries again"
    skipped = publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(settings))
    assert isinstance(skipped, dg.SkipReason)
