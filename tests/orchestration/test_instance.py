"""The Dagster instance of a command: whole records, few waits for the disk, no processes beside it.

An instance of others may be of any form that Dagster accepts.
"""

from pathlib import Path
from threading import Timer

import dagster as dg
import pytest
from sqlalchemy import create_engine

from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.status_report import lacking
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.support import RIVER, run, write_source


@dg.asset
def printed() -> None:
    print("a line")  # noqa: T201


def test_records_wait_in_the_log_and_are_whole_at_the_end(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    history = home.dagster / "history" / "runs"
    with open_instance(home) as instance:
        run = dg.materialize([printed], instance=instance).run_id
        for name in (run, "index"):
            assert (history / f"{name}.db-wal").stat().st_size > 0
    assert not list(history.glob("*-wal"))
    with open_instance(home) as instance:
        assert [(one.run_id, one.status) for one in instance.get_runs()] == [(run, dg.DagsterRunStatus.SUCCESS)]
        assert len(instance.all_logs(run, of_type=dg.DagsterEventType.STEP_SUCCESS)) == 1
        assert instance.get_latest_materialization_event(dg.AssetKey("printed")) is not None


def test_no_step_is_watched_for_what_it_prints(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with open_instance(home) as instance:
        dg.materialize([printed], instance=instance)
    assert not list(home.dagster.rglob("compute_logs"))


def test_a_dagster_home_of_others_gets_no_file_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, others = Home(tmp_path / "home"), tmp_path / "others"
    for place, made in ((others, False), (home.own_dagster, True)):
        monkeypatch.setenv("DAGSTER_HOME", str(place))
        with open_instance(home) as instance:
            run = dg.materialize([printed], instance=instance).run_id
            assert instance.get_settings("telemetry") == {"enabled": False}
        assert (place / "dagster.yaml").exists() is made
        assert (place / "history" / "runs" / f"{run}.db").exists()
    assert not list(others.rglob("compute_logs"))


def test_other_databases_are_left_as_they_are(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/other.db")
    with open_instance(Home(tmp_path / "home")), engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "delete"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
    engine.dispose()


DAEMON = "a run of the daemon"
SECONDS = 60.0
_COORDINATOR = "run_coordinator: {module: dagster.core.run_coordinator, class: QueuedRunCoordinator, config: {%s}}"
_LIMITS = "tag_concurrency_limits: [{key: team, value: {applyLimitPerUniqueValue: true}, limit: 1}]"
_BLOCKED = "block_op_concurrency_limited_runs: {enabled: true, op_concurrency_slot_buffer: 1}"
FORMS = {
    "nothing": ("", False),
    "coordinator": (_COORDINATOR % "max_concurrent_runs: 3", False),
    "coordinator with limits of tags": (_COORDINATOR % f"max_concurrent_runs: 3, {_LIMITS}", False),
    "coordinator that blocks": (_COORDINATOR % _BLOCKED, False),
    "no queue": ("run_coordinator: {module: dagster.core.run_coordinator, class: DefaultRunCoordinator}", False),
    "run_queue": (f"run_queue: {{max_concurrent_runs: 3, {_LIMITS}}}", False),
    "run_queue and default": (
        "run_queue: {max_concurrent_runs: 3}\nconcurrency: {default_op_concurrency_limit: 1}",
        True,
    ),
    "runs": (f"concurrency: {{runs: {{max_concurrent_runs: 3, {_LIMITS}}}}}", False),
    "pools by step": ("concurrency: {pools: {granularity: op, default_limit: 1}}", True),
    "pools by run": ("concurrency: {pools: {granularity: run, default_limit: 1}}", True),
    "Postgres": ("storage: {postgres: {postgres_url: URL}}", False),
}
"""Forms of `dagster.yaml`, by what they say of concurrency, and whether that limits all pools."""


@pytest.mark.parametrize("form", FORMS)
def test_a_command_leaves_the_form_and_the_pools_of_an_instance_alone(
    form: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text, limits_all = FORMS[form]
    if form == "Postgres":
        text = text.replace("URL", request.getfixturevalue("postgres").get_secret_value())
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "others"))
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "dagster.yaml").write_text(text)
    write_source(settings, "notes", {"river.md": RIVER})
    with dg.DagsterInstance.get() as others:  # as the daemon, the web server and `dg` open it
        storage = others.event_log_storage
        unlimited = [f"dagster instance concurrency set {pool} 1" for pool in ("llm", "writer")]
        advised = [one for one in lacking(others, Namespace()) if "has no limit" in one]
        assert len(advised) == (0 if limits_all else 2)
        assert all(command in one for command, one in zip(unlimited, advised, strict=False))
        for pool in ("llm", "writer"):
            storage.set_concurrency_slots(pool, 1)
            assert storage.claim_concurrency_slot(pool, DAEMON, "a step").is_claimed
        assert not [one for one in lacking(others, Namespace()) if "has no limit" in one]
        waiting = Timer(SECONDS, storage.free_concurrency_slots_for_run, [DAEMON])
        waiting.start()
        assert run(settings).published
        assert waiting.is_alive(), "it waited for the pools of the daemon's step"
        waiting.cancel()
        assert {one.job_name for one in others.get_runs()} == {"ingest", "publish"}


@pytest.mark.parametrize(("text", "advised"), [("", 1), ("run_monitoring: {enabled: true}", 0)])
def test_the_report_says_that_nobody_watches_runs(tmp_path: Path, text: str, advised: int) -> None:
    (tmp_path / "dagster.yaml").write_text(text)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert len([one for one in lacking(instance, Namespace("contracts")) if "run_monitoring" in one]) == advised
        assert "set contracts_llm 1" in lacking(instance, Namespace("contracts"))[0]
