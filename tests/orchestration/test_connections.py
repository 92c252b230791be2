"""Connections that stay open: used again, bounded, and as clean as new ones."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, literal, select, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from lightrag_dagster.orchestration.connections import kept_open


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


@pytest.mark.long
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


def test_engines_share_what_they_compiled(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    shared: list[Any] = []
    for number, name in enumerate(("one", "other", "one")):
        with engine(folder, name).connect() as connection:
            assert connection.execute(select(literal(number))).scalar_one() == number
            assert connection.execute(select(literal("text"), literal(number))).one() == ("text", number)
            shared.append(connection.get_execution_options()["compiled_cache"])
    assert shared[0] is shared[1] is shared[2]
    assert len(shared[0]) == 2
    with engine(tmp_path_factory.mktemp("elsewhere")).connect() as connection:
        assert "compiled_cache" not in connection.get_execution_options()
