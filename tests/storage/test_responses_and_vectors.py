"""Both stores share their ground, `KeyedTable`, and are tested together."""

import errno
import multiprocessing
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.database import engine
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.keyed_store import KeyedTable
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore


def _run(store: KeyedTable, statement: str) -> object:
    """Run a statement on the one connection of an SQLite file, and return the first value that it gives."""
    with store.begin() as connection:
        result = connection.exec_driver_sql(statement)
        return result.scalar() if result.returns_rows else None


STORES: list[Callable[[Address], KeyedTable]] = [ResponseStore, VectorStore]


def test_answers_come_back_as_they_were(address: Address) -> None:
    answers = {
        "a": ChatResponse("Ünïcode \x00 日本 🙂\n", "length", 1, 10**9, 3, 0.1),
        "b": ChatResponse("", "stop", 0, 0, 0, 0.0),
    }
    with ResponseStore(address) as store:
        store.put_many(answers)
        assert store.get_many(["a", "missing", "b"]) == answers
        assert store.get_many([]) == {}


def test_vectors_come_back_as_they_were(address: Address) -> None:
    vectors = {str(n): np.random.default_rng(n).normal(size=1024).astype(np.float32) for n in range(2500)}
    with VectorStore(address) as store:
        store.put_many(vectors)
    with VectorStore(address) as store:
        found = store.get_many([*vectors, "missing"])
    assert found.keys() == vectors.keys()
    assert all(np.array_equal(found[key], vectors[key]) for key in vectors)


def test_what_is_there_stays(address: Address) -> None:
    with ResponseStore(address) as store:
        store.put_many({"a": ChatResponse("first")})
        store.put_many({"a": ChatResponse("second"), "b": ChatResponse("third")})
        assert {key: row.text for key, row in store.get_many("ab").items()} == {"a": "first", "b": "third"}


def _write(address: Address, worker: int) -> None:
    with ResponseStore(address) as store:
        for number in range(100):
            store.put_many({f"{worker}-{number}": ChatResponse("text" * 500), f"{number}": ChatResponse("shared")})


@pytest.mark.long
def test_processes_may_write_together(address: Address) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(address, worker)) for worker in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    with ResponseStore(address) as store:
        wanted = [f"{worker}-{number}" for worker in range(2) for number in range(100)]
        assert len(store.get_many([*wanted, *map(str, range(100))])) == 300


def test_threads_may_share_one_store(address: Address) -> None:
    with ResponseStore(address) as store, ThreadPoolExecutor(4) as pool:

        def work(worker: int) -> int:
            for number in range(100):
                store.put_many({f"{worker}-{number}": ChatResponse("text")})
            return len(store.get_many(f"{worker}-{number}" for number in range(100)))

        assert list(pool.map(work, range(4))) == [100] * 4


def test_the_same_keys_may_be_put_at_once_in_any_order(address: Address) -> None:
    keys = [str(number) for number in range(100)]
    orders = [keys, keys[::-1]] * 2

    def put(order: list[str]) -> None:
        with ResponseStore(address) as store:
            for part in range(20):
                store.put_many({f"{part}-{key}": ChatResponse("text") for key in order})

    with ThreadPoolExecutor(len(orders)) as pool:
        list(pool.map(put, orders))
    with ResponseStore(address) as store:
        assert store.count() == 20 * len(keys)


def _kill_after_put(address: Address) -> None:
    store = ResponseStore(address)
    store.put_many({"a": ChatResponse("paid for")})
    os._exit(9)


def test_what_was_put_survives_the_death_of_the_process(address: Address) -> None:
    worker = multiprocessing.get_context("spawn").Process(target=_kill_after_put, args=(address,))
    worker.start()
    worker.join()
    assert worker.exitcode == 9
    with ResponseStore(address) as store:
        assert store.get_many(["a"])["a"].text == "paid for"


@pytest.mark.parametrize("store", STORES)
def test_a_file_that_is_no_database_is_named(tmp_path: Path, store: Callable[[Address], KeyedTable]) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"this is not a database, but long enough to look like something" * 100)
    with pytest.raises(StoreError, match=r"store\.sqlite is damaged; restore it from a backup, or move it away"):
        store(path)


def test_a_damaged_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    keys = [str(number) for number in range(500)]
    with ResponseStore(path) as store:
        store.put_many({key: ChatResponse("text" * 300) for key in keys})
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged"), ResponseStore(path) as store:
        store.get_many(keys)


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    with ResponseStore(path) as store:
        store.put_many({"a": ChatResponse("kept")})
        # What SQLite meets on a full disk, it also meets at a limit of its own.
        _run(store, "PRAGMA max_page_count = 5")
        with pytest.raises(StoreError, match=r"does not fit on the disk; free some space"):
            store.put_many({"b": ChatResponse("x" * 100_000)})
        assert store.get_many("ab") == {"a": ChatResponse("kept")}


def test_a_read_only_file_is_named(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        _run(store, "PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="cannot be written; check the permissions"):
            store.put_many({"a": ChatResponse("text")})


@pytest.mark.parametrize("store", STORES)
def test_a_folder_that_cannot_be_is_named(tmp_path: Path, store: Callable[[Address], KeyedTable]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=rf"store\.sqlite cannot be created: {os.strerror(errno.EEXIST)}"):
        store(tmp_path / "file" / "store.sqlite")
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        store(tmp_path / "store.sqlite")


def test_a_table_of_another_making_is_named(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE responses (key TEXT PRIMARY KEY)")
    connection.execute("INSERT INTO responses VALUES ('a')")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="cannot be used"), ResponseStore(path) as store:
        store.put_many({"a": ChatResponse("text")})


DAY = 86_400


def _put(store: KeyedTable, *keys: str) -> None:
    if isinstance(store, ResponseStore):
        store.put_many({key: ChatResponse("text") for key in keys})
    else:
        assert isinstance(store, VectorStore)
        store.put_many({key: np.ones(3, dtype=np.float32) for key in keys})


def _get(store: KeyedTable, *keys: str) -> list[str]:
    assert isinstance(store, ResponseStore | VectorStore)
    return list(store.get_many(keys))


@pytest.mark.parametrize("store", STORES)
def test_rows_without_use_are_pruned(
    address: Address, store: Callable[[Address], KeyedTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0 * DAY]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with store(address) as opened:
        _put(opened, "used", "unused")
        now[0] += 89 * DAY
        assert opened.prune(90) == 0
        assert _get(opened, "used") == ["used"]
        now[0] += DAY
        assert (opened.count(), opened.count(unused_for=90)) == (2, 1)
        assert opened.prune(90) == 1
        assert opened.stored_bytes > 0
        assert _get(opened, "used", "unused") == ["used"]
    if isinstance(address, Path):
        with closing(sqlite3.connect(address)) as file:
            assert file.execute("PRAGMA page_count").fetchone()[0] <= 3  # of the schema, the rows and their keys


@pytest.mark.parametrize("store", STORES)
def test_a_row_that_changed_is_told_once_and_can_be_stored_again(
    address: Address, store: Callable[[Address], KeyedTable], caplog: pytest.LogCaptureFixture
) -> None:
    with store(address) as opened:
        _put(opened, "a", "b")
        table = "responses SET text" if isinstance(opened, ResponseStore) else "vectors SET vector"
        other = "'\\x95'" if opened.on_postgres else "x'95'"
        _run(opened, f"UPDATE {table} = {other} WHERE key = 'a'")
        assert [_get(opened, "a", "b") for _ in range(2)] == [["b"], ["b"]]
        _put(opened, "a", "b")
        assert sorted(_get(opened, "a", "b")) == ["a", "b"]
    assert [record.message for record in caplog.records] == [
        f"{opened.name} has 1 row that is not as stored, and paid for again if asked; check the disk"
    ]


@pytest.mark.parametrize("store", STORES)
def test_a_row_of_an_earlier_layout_is_kept(address: Address, store: Callable[[Address], KeyedTable]) -> None:
    with store(address) as opened:
        _put(opened, "a")
        _run(opened, f"ALTER TABLE {'responses' if isinstance(opened, ResponseStore) else 'vectors'} DROP COLUMN crc32")
    with store(address) as opened:
        _put(opened, "b")
        assert sorted(_get(opened, "a", "b")) == ["a", "b"]


def _content(store: KeyedTable, *keys: str) -> dict[str, ChatResponse | bytes]:
    assert isinstance(store, ResponseStore | VectorStore)
    found = store.get_many(keys)
    return {key: row if isinstance(row, ChatResponse) else row.tobytes() for key, row in found.items()}


@pytest.mark.long
@pytest.mark.parametrize("store", STORES)
def test_no_flipped_bit_of_the_file_gives_another_row(tmp_path: Path, store: Callable[[Address], KeyedTable]) -> None:
    path = tmp_path / "store.sqlite"
    with store(path) as opened:
        _put(opened, "key of a", "key of b")
        sound = _content(opened, "key of a", "key of b")
    content = path.read_bytes()
    for place in range(len(content)):
        if content[place] or place % 500 == 0:
            path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
            with suppress(StoreError), store(path) as opened:
                found = _content(opened, *sound)
                assert found.items() <= sound.items(), (place, found)


def test_totals_and_known_keys(address: Address) -> None:
    with ResponseStore(address) as store:
        assert store.totals() == (0, 0, 0, 0.0)
        store.put_many({"a": ChatResponse("x", "stop", 1, 2, 3, 0.25), "b": ChatResponse("y", "stop", 10, 20, 30, 0.5)})
        assert store.totals() == (2, 11, 22, 0.75)
        assert store.known(["a", "c"]) == {"a"}


def test_use_is_written_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0 * DAY]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with VectorStore(tmp_path / "vectors.sqlite") as store:
        _put(store, "a", "b")
        changes = [_run(store, "SELECT total_changes()")]
        for days in (0, 1, 0, 1):
            now[0] += days * DAY
            _get(store, "a")
            changes.append(_run(store, "SELECT total_changes()"))
    assert changes == [2, 2, 3, 3, 4]


@pytest.mark.parametrize("broken", ["PRAGMA query_only = ON", "PRAGMA max_page_count = 2"])
def test_rows_are_read_where_use_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        _put(store, "a")
        _run(store, broken)
        monkeypatch.setattr(time, "time", lambda: 1e6 * DAY)
        assert _get(store, "a") == ["a"]


@pytest.mark.parametrize("store", STORES)
def test_erased_rows_are_gone_and_the_others_stay(address: Address, store: Callable[[Address], KeyedTable]) -> None:
    with store(address) as opened:
        _put(opened, "word to find", "b")
        assert set(opened.keys()) == {"word to find", "b"}
        if isinstance(address, Path):
            _run(opened, "PRAGMA secure_delete = OFF")  # some systems overwrite what is deleted by themselves
        opened.erase(["word to find", "never there"])
        assert set(opened.keys()) == {"b"}
        opened.erase([])
        if isinstance(address, Path):
            files = [path.read_bytes() for path in address.parent.iterdir()]
            assert not any(b"word to find" in content for content in files)


def test_a_reader_that_keeps_erased_rows_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.1)
    path = tmp_path / "responses.sqlite"
    with ResponseStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        _put(store, "a", "b")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM responses").fetchall()
        with pytest.raises(StoreError, match=r"responses.sqlite is read by another process, so that removed rows stay"):
            store.erase(["a"])
        reader.execute("COMMIT")
        store.erase(["a"])
        assert set(store.keys()) == {"b"}
