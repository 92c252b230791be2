"""Connections that stay open: used again, bounded, and as clean as new ones."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.sql import get_alembic_config
from sqlalchemy import Connection, Engine, create_engine, event, literal, select, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from lightrag_dagster.orchestration.connections import in_one_transaction, kept_open


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with kept_open(tmp_path):
        yield tmp_path


def engine(folder: Path, name: str = "events") -> Engine:
    return create_engine(f"sqlite:///{folder}/{name}.db", poolclass=NullPool)


def driver_of(connection: Connection) -> Any:
    return connection.connection.driver_connection


def open_files(folder: Path) -> int:
    return sum(one.resolve().is_relative_to(folder) for one in Path("/proc/self/fd").iterdir())


def test_a_file_is_opened_once_and_a_second_time_while_the_first_is_in_use(folder: Path) -> None:
    with engine(folder).connect() as first, engine(folder).connect() as second:
        drivers = {driver_of(first), driver_of(second)}
    assert len(drivers) == 2
    for _ in range(2):
        with engine(folder).connect() as again:
            assert driver_of(again) in drivers


def test_what_is_not_committed_is_gone_when_a_connection_is_used_again(folder: Path) -> None:
    with engine(folder).begin() as connection:
        connection.execute(text("CREATE TABLE events (id)"))
        connection.execute(text("INSERT INTO events VALUES (1)"))
    with engine(folder).connect() as connection:
        connection.execute(text("INSERT INTO events VALUES (2)"))
        left = driver_of(connection)
    with closing(engine(folder).raw_connection()) as raw:
        assert raw.driver_connection is left
        raw.cursor().execute("INSERT INTO events VALUES (3)")
    with engine(folder).connect() as connection:
        assert connection.execute(text("SELECT * FROM events")).scalars().all() == [1]
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"


def test_of_many_files_few_stay_open_and_at_the_end_none(tmp_path: Path) -> None:
    with kept_open(tmp_path):
        for number in range(40):
            with engine(tmp_path, str(number)).begin() as connection:
                connection.execute(text("CREATE TABLE events (id)"))
            assert open_files(tmp_path) <= 3 * 16
        assert open_files(tmp_path) > 0
        late = engine(tmp_path).connect()
    assert open_files(tmp_path) == 1
    late.close()
    assert open_files(tmp_path) == 0


def test_a_file_that_is_no_database_is_an_error_and_is_closed(folder: Path) -> None:
    (folder / "events.db").write_bytes(b"no database at all, however long it is" * 100)
    with pytest.raises(DatabaseError, match="not a database"):
        engine(folder).connect()
    assert open_files(folder) == 0


def test_what_is_no_file_below_the_folder_is_opened_as_ever(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for one in (create_engine("sqlite://"), engine(elsewhere)):
        with one.connect() as connection:
            assert type(driver_of(connection)).__module__ == "sqlite3"
        one.dispose()


def test_dagster_has_one_engine_a_file_until_the_end(tmp_path: Path) -> None:
    dagsters: Any = sqlite_event_log

    def made(name: str) -> Engine:
        engine: Engine = dagsters.create_engine(f"sqlite:///{tmp_path}/{name}.db", poolclass=NullPool)
        return engine

    with kept_open(tmp_path):
        one, other = made("one"), made("other")
        assert made("one") is one
        assert one is not other
        for number, each in enumerate((one, other, one)):
            with each.connect() as connection:
                assert connection.execute(select(literal(number))).scalar_one() == number
            each.dispose()
        assert len(one.get_execution_options()["compiled_cache"]) == 1
    assert made("one") is not one


def test_revisions_are_read_once_until_the_end(tmp_path: Path) -> None:
    config, before = get_alembic_config(sqlite_event_log.__file__), vars(ScriptDirectory)["from_config"]
    with kept_open(tmp_path):
        assert vars(ScriptDirectory)["from_config"] is not before
        assert ScriptDirectory.from_config(config) is ScriptDirectory.from_config(config)
    assert vars(ScriptDirectory)["from_config"] is before


def report(instance: dg.DagsterInstance, *partitions: str) -> None:
    for partition in map("".__add__, partitions):
        instance.report_runless_asset_event(dg.AssetMaterialization("table", partition=partition))


def stored(instance: dg.DagsterInstance) -> set[str]:
    return instance.get_materialized_partitions(dg.AssetKey("table"))


def test_events_of_a_block_are_stored_together(tmp_path: Path) -> None:
    commits: list[str] = []
    with kept_open(tmp_path), dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        report(instance, "before")
        event.listen(Engine, "commit", lambda connection: commits.append(str(connection.engine.url)))
        with in_one_transaction(instance):
            report(instance, "a", "b", "c")
            assert commits == []
            assert stored(instance) == {"before", "a", "b", "c"}
        assert len(commits) == len(set(commits)) == 2
        with pytest.raises(TypeError), in_one_transaction(instance):
            report(instance, "d", None)  # type: ignore[arg-type]
        assert stored(instance) == {"before", "a", "b", "c", "d"}


def test_another_thread_waits_for_the_block(tmp_path: Path) -> None:
    with kept_open(tmp_path), dg.DagsterInstance.local_temp(str(tmp_path)) as instance, ThreadPoolExecutor(1) as pool:
        report(instance, "before")
        with in_one_transaction(instance):
            report(instance, "here")
            there = pool.submit(report, instance, "there")
            with pytest.raises(TimeoutError):
                there.result(timeout=0.2)
            report(instance, "here too")
        there.result(timeout=60)
        assert stored(instance) == {"before", "here", "here too", "there"}


def test_a_schema_is_looked_up_once_until_the_end(tmp_path: Path) -> None:
    before = vars(SqliteEventLogStorage)["has_table"]
    with kept_open(tmp_path), dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        storage = instance.event_log_storage
        assert storage.has_table("asset_keys")  # type: ignore[attr-defined]
        assert not storage.has_table("another")  # type: ignore[attr-defined]
        (tmp_path / "history" / "runs" / "index.db").unlink()
        assert storage.has_table("asset_keys")  # type: ignore[attr-defined]
    assert vars(SqliteEventLogStorage)["has_table"] is before
