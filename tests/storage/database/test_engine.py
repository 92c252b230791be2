"""Errors of databases, and Postgres that fails; what both kinds of database can do is tested with each store."""

import logging
import sqlite3
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Column, Engine, MetaData, Table, Text

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.database import engine
from lightrag_dagster.storage.database.errors import address_name
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from tests.postgres import new_schema, serving_postgres

NOWHERE = "postgresql://someone:secret-word@127.0.0.1:1/kb?password=secret-word"
UNREADABLE = "postgresql://someone:secret-word@host:port/kb"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://someone:secret-word@db.example/kb", "the database kb at db.example"),
        ("postgres://db.example/kb?password=secret-word", "the database kb at db.example"),
        ("postgresql:///kb?host=/run/postgres", "the database kb at /run/postgres"),
    ],
)
def test_a_database_is_named_without_its_password(url: str, name: str) -> None:
    assert address_name(SecretStr(url)) == name


def test_an_unreachable_server_is_named_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(
        StoreError, match=r"the database kb at 127\.0\.0\.1 cannot be reached: .*refused.*check"
    ) as raised:
        ResponseStore(SecretStr(NOWHERE))
    assert "\n" not in str(raised.value)
    shown = "".join(traceback.format_exception(raised.value)) + caplog.text
    assert "secret-word" not in shown


@pytest.mark.parametrize("url", ["mysql://root:secret-word@localhost/kb", "data.sqlite", "sqlite:///data.sqlite"])
def test_a_url_of_another_kind_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("LIGHTRAG_DATABASE", url)
    with pytest.raises(SettingsError, match=r"setting database: .*begins with postgresql://") as raised:
        load_settings()
    assert "secret-word" not in str(raised.value)


def test_a_url_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(StoreError, match="LIGHTRAG_DATABASE is not a URL") as raised:
        ResponseStore(SecretStr(UNREADABLE))
    assert "secret-word" not in "".join(traceback.format_exception(raised.value))


def test_the_url_is_shown_nowhere_in_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LIGHTRAG_DATABASE", NOWHERE)
    settings = load_settings(home=tmp_path)
    assert Home.of(settings).responses == SecretStr(NOWHERE)
    for shown in (repr(settings), settings.model_dump_json(), str(Home.of(settings))):
        assert "secret-word" not in shown


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    url = SecretStr(f"postgresql://127.0.0.1:1/{new_schema()}")
    for attempt in (lambda: ResponseStore(url), lambda: building(Home(tmp_path, url), 0).__enter__()):
        with pytest.raises(StoreError, match=r"LIGHTRAG_DATABASE needs psycopg; run `pip install .*\[cloud\]"):
            attempt()


@pytest.mark.long
def test_tables_are_created_once_by_many_threads(postgres: SecretStr) -> None:
    failed: list[StoreError] = []

    def put(number: int) -> None:
        try:
            with ResponseStore(postgres) as store:
                store.put_many({str(number): ChatResponse("text")})
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with ResponseStore(postgres) as store:
        assert store.count() == 5


def test_threads_that_come_first_together_share_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    create = engine.new_postgres_engine
    meet = threading.Barrier(2)

    def slowly(*arguments: Any, **options: Any) -> Engine:
        with suppress(threading.BrokenBarrierError):
            meet.wait(0.2)
        return create(*arguments, **options)

    monkeypatch.setattr(engine, "new_postgres_engine", slowly)
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(engine.postgres_engine, ["postgresql:///nowhere"] * 2)
    assert one is other


def test_a_read_only_database_is_named_and_still_read(postgres: SecretStr) -> None:
    with ResponseStore(postgres) as store:
        store.put_many({"a": ChatResponse("kept")})
        with store.begin() as connection:
            connection.exec_driver_sql("ALTER ROLE postgres SET default_transaction_read_only = on")
        try:
            store.engine.dispose()
            with pytest.raises(
                StoreError, match="is read-only; give LIGHTRAG_DATABASE the address of the primary"
            ) as no:
                store.put_many({"b": ChatResponse("what the model said")})
            assert "what the model said" not in str(no.value.__cause__)
            with ResponseStore(postgres) as again:
                assert again.get_many("ab") == {"a": ChatResponse("kept")}
        finally:
            with store.begin() as connection:
                connection.exec_driver_sql("SET TRANSACTION READ WRITE")
                connection.exec_driver_sql("ALTER ROLE postgres RESET default_transaction_read_only")
            store.engine.dispose()


@pytest.mark.long
def test_a_server_that_is_restarted_midway_loses_nothing_and_is_used_again() -> None:
    with serving_postgres() as server, ResponseStore(SecretStr(server.url(new_schema()))) as store:
        store.put_many({"a": ChatResponse("first")})
        server.stop()
        with pytest.raises(StoreError, match="cannot be reached"):
            store.put_many({"b": ChatResponse("lost")})
        server.start()
        store.put_many({"c": ChatResponse("second")})
        assert store.get_many("abc") == {"a": ChatResponse("first"), "c": ChatResponse("second")}
        store.engine.dispose()


def test_a_file_whose_tables_cannot_be_made_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW responses AS SELECT 1")
    with pytest.raises(StoreError, match=r"responses\.sqlite"):
        engine.Database(path, [Table("responses", MetaData(), Column("added", Text, server_default=""))])
    assert not path.with_name("responses.sqlite-wal").exists()  # SQLite removes it with the last connection


def test_a_file_that_is_not_yet_in_wal_mode_waits_for_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    writer = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    writer.execute("CREATE TABLE another (value)")
    writer.execute("BEGIN IMMEDIATE")
    ended = threading.Timer(0.3, writer.execute, ["COMMIT"])
    ended.start()
    try:
        with ResponseStore(path) as store:
            assert list(store.keys()) == []
    finally:
        ended.join()
        writer.close()


def test_a_file_has_its_header_at_once_and_one_without_bytes_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    engine.Database(path, []).close()
    assert path.read_bytes().startswith(b"SQLite format 3")
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.sqlite"]
    path.write_bytes(b"")
    with pytest.raises(StoreError, match=r"ledger\.sqlite has no bytes; restore it from a backup.*budgets count from"):
        engine.Database(path, [])
    with pytest.raises(StoreError, match=r"ledger\.sqlite has no bytes"):
        engine.Database(path, [], looking=True)


def test_a_store_that_is_looked_into_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none" / "responses.sqlite"
    with ResponseStore(path, looking=True) as store:
        assert (store.count(), store.stored_bytes, store.get_many(["a"]), store.prune(0)) == (0, 0, {}, 0)
    assert not path.parent.exists()
    with ResponseStore(path) as store:
        store.put_many({"a": ChatResponse("yes", "stop", 1, 2)})
    with ResponseStore(path, looking=True) as store:
        assert store.get_many(["a"])["a"].text == "yes"


def test_a_store_of_another_layout_that_is_looked_into_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    ResponseStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE responses ADD COLUMN of_another_version TEXT")

        def columns() -> list[str]:
            return [name for _, name, *_ in connection.execute("PRAGMA table_info(responses)")]

        ResponseStore(path, looking=True).close()
        assert columns()[-1] == "of_another_version"
        ResponseStore(path).close()
        assert "of_another_version" not in columns()
