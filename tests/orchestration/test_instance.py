"""The Dagster instance of a command: whole records, few waits for the disk, no processes beside it."""

from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import create_engine

from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.storage.home import Home


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
