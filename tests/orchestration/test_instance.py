"""The Dagster instance of a command: whole records, few waits for the disk, no processes beside it.

An instance of others may be of any form that Dagster accepts.
"""

from pathlib import Path
from threading import Timer
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.scheduler.instigation import InstigatorType, TickStatus
from dagster_postgres.utils import retry_pg_connection_fn
from rich.console import Console
from sqlalchemy import create_engine

from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.status_report import lacking
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import StoreError
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.runner import make_report
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.loopback import unused_port
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
    assert not [file for file in home.dagster.rglob("*") if file.is_file() and b"a line\n" in file.read_bytes()]


@pytest.mark.long
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


@pytest.mark.parametrize(
    "written",
    [
        "telemtry: {enabled: false}",
        "storage: {postgres: {postgres_url: {env: NO_SUCH_VARIABLE}}}",
        "storage: {postgres: hush-word}",
        "storage: {mysql: {mysql_url: hush-word}}",
        "telemetry: [",
        "- hush-word",
    ],
)
def test_a_file_that_dagster_cannot_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    the_form(written, tmp_path / "others", monkeypatch)
    with pytest.raises(StoreError) as refused, open_instance(Home(tmp_path / "home")):
        pass
    assert f"Dagster cannot open its instance in {tmp_path}/others" in str(refused.value)
    assert "hush-word" not in str(refused.value)


def test_an_error_of_dagster_in_the_block_is_not_of_its_file(tmp_path: Path) -> None:
    with pytest.raises(dg.DagsterInvariantViolationError, match="ours"), open_instance(Home(tmp_path / "home")):
        raise dg.DagsterInvariantViolationError("ours")


@pytest.mark.parametrize("opens", [False, pytest.param(True, marks=pytest.mark.long)])  # Dagster tries for seconds
def test_a_postgres_of_dagster_that_goes_away_is_to_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens: bool
) -> None:
    url = f"postgresql+psycopg2://dagster:hush-word@127.0.0.1:{unused_port()}/dagster"
    the_form(f"storage: {{postgres: {{postgres_url: '{url}'}}}}" if opens else "", tmp_path / "others", monkeypatch)
    with pytest.raises(StoreError) as refused, open_instance(Home(tmp_path / "home")):
        retry_pg_connection_fn(create_engine(url).connect, retry_limit=0)
    assert f"start it, or correct `storage` in {tmp_path}/others/dagster.yaml, and run again" in str(refused.value)
    assert "Connection refused" in str(refused.value)
    assert "hush-word" not in str(refused.value)


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
    "Postgres": ("", False),
}
"""Forms of `dagster.yaml`, by what they say of concurrency, and whether that limits all pools."""


def the_form(form: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the instance of others that $DAGSTER_HOME names, without telemetry."""
    folder.mkdir()
    (folder / "dagster.yaml").write_text(f"telemetry: {{enabled: false}}\n{form}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(folder))


_QUICK = ("nothing", "coordinator that blocks")


@pytest.mark.parametrize(
    "form", [form if form in _QUICK else pytest.param(form, marks=pytest.mark.long) for form in FORMS]
)
def test_a_command_works_in_an_instance_of_any_form(
    form: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text, limits_all = FORMS[form]
    if form == "Postgres":
        url = request.getfixturevalue("postgres").get_secret_value().replace("://", "+psycopg2://", 1)
        text = f"storage: {{postgres: {{postgres_url: '{url}'}}}}"
    the_form(text, tmp_path / "others", monkeypatch)
    with display(Console(quiet=True)) as shown:
        make_report(settings, shown)
    with dg.DagsterInstance.get() as others:  # as the daemon, the web server and `dg` open it
        (event,) = others.fetch_materializations(dg.AssetKey("status_report"), 9).records
        assert event.asset_materialization
        advice: Any = event.asset_materialization.metadata["instance"].value
        commands = [f"`dagster instance concurrency set {pool} 1`, once" for pool in ("llm", "writer")]
        assert [one.split("run ")[-1] for one in advice[:-1]] == ([] if limits_all else commands)
        assert "run_monitoring" in advice[-1]
        for pool in ("llm", "writer"):
            others.event_log_storage.set_concurrency_slots(pool, 1)
        assert lacking(others, Namespace()) == advice[-1:], "limits in the database count"


@pytest.mark.long
def test_a_command_waits_for_no_pool_that_a_step_of_the_daemon_holds(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    the_form(FORMS["pools by step"][0], tmp_path / "others", monkeypatch)
    write_source(settings, "notes", {"river.md": RIVER})
    with dg.DagsterInstance.get() as others:
        storage = others.event_log_storage
        for pool in ("llm", "writer"):
            storage.set_concurrency_slots(pool, 1)
            assert storage.claim_concurrency_slot(pool, DAEMON, "a step").is_claimed
        waiting = Timer(SECONDS, storage.free_concurrency_slots_for_run, [DAEMON])
        waiting.start()
        assert run(settings).published
        assert waiting.is_alive(), "it waited for these pools"
        waiting.cancel()
        assert {one.job_name for one in others.get_runs()} == {"ingest", "publish"}


def test_nothing_is_lacking_in_the_instance_of_a_home(settings: Settings) -> None:
    home = Home.of(settings)
    with open_instance(home):
        pass
    with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        assert lacking(instance, Namespace("contracts")) == []


def test_a_new_home_keeps_ticks_as_long_as_the_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    said = yaml.safe_load(page[page.index("\nretention:\n") :].partition("```")[0])["retention"]
    with open_instance(Home(tmp_path / "home")) as instance:
        kept = {kind: instance.get_tick_retention_settings(kind) for kind in InstigatorType}
    assert kept[InstigatorType.SCHEDULE] == dict.fromkeys(TickStatus, said["schedule"]["purge_after_days"])
    days = {status.value.lower(): number for status, number in kept[InstigatorType.SENSOR].items()}
    assert days == said["sensor"]["purge_after_days"] == {"skipped": 7, "started": 30, "success": 30, "failure": 30}
