"""Rows of either database as Parquet and back, into either."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from lightrag_dagster.core.protocols import ChatResponse, Usage
from lightrag_dagster.errors import StoreError
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger, open_ledger
from lightrag_dagster.spending.tables import LEDGER
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.responses import RESPONSES, ResponseStore
from lightrag_dagster.storage.database.table_dump import count_rows, is_empty, load_rows, save_rows
from lightrag_dagster.storage.database.vectors import VECTORS, VectorStore
from tests.postgres import PostgresServer, new_schema

ANSWERS = {
    "a": ChatResponse("Ünïcode \x00 日本 🙂\n", "length", 1, 10**9, 3, 0.1),
    "b": ChatResponse("", "stop", 0, 0, 0, 0.0),
} | {f"c{number}": ChatResponse(f"answer {number}") for number in range(2500)}


@pytest.fixture
def other(request: pytest.FixtureRequest, address: Address, tmp_path: Path) -> Address:
    """A database of the other kind than `address`."""
    if not isinstance(address, Path):
        return tmp_path / "other.sqlite"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return SecretStr(server.url(new_schema()))


def test_answers_are_the_same_in_the_other_database(address: Address, other: Address, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    with ResponseStore(address) as store:
        assert is_empty(store, RESPONSES)
        store.put_many(ANSWERS)
        assert save_rows(store, RESPONSES, path) == count_rows(path) == len(ANSWERS)
    with ResponseStore(other) as store:
        store.put_many({"b": ANSWERS["b"]})
        assert not is_empty(store, RESPONSES)
        for _ in range(2):  # as after a kill
            load_rows(store, RESPONSES, path)
        assert store.get_many(ANSWERS) == ANSWERS
        assert store.count() == len(ANSWERS)


def test_what_is_not_known_of_a_vector_stays_unknown(address: Address, other: Address, tmp_path: Path) -> None:
    """A vector taken from another system has no count of unread characters."""
    path = tmp_path / "rows.parquet"
    with VectorStore(address) as store:
        store.put_many({"a": np.ones(4, np.float32), "b": np.zeros(4, np.float32)}, {"b": 7})
        save_rows(store, VECTORS, path)
    with VectorStore(other) as store:
        load_rows(store, VECTORS, path)
        assert store.unread("ab") == {"b": 7}
        assert store.get_many("ab")["a"].tolist() == [1.0] * 4


def test_entries_keep_their_order_and_the_next_one_follows(address: Address, other: Address, tmp_path: Path) -> None:
    path, entry = tmp_path / "rows.parquet", Account("first").entry("extract", "model", Usage(calls=1, cost_usd=0.5))
    Ledger(address).add(entry)
    with open_ledger(address) as database:
        save_rows(database, LEDGER, path)
    with open_ledger(other) as database:
        load_rows(database, LEDGER, path)
    Ledger(other).add(Account("second").entry("extract", "model", Usage(calls=1, cost_usd=0.25)))
    assert Ledger(other).entries()["run"].to_pylist() == ["first", "second"]
    assert Ledger(other).by_purpose()["extract"].cost_usd == 0.75


def test_without_a_database_there_are_no_rows(tmp_path: Path) -> None:
    assert save_rows(None, RESPONSES, tmp_path / "rows.parquet") == count_rows(tmp_path / "rows.parquet") == 0


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"no Parquet")
    with pytest.raises(StoreError, match=r"rows\.parquet is damaged; use another backup"):
        count_rows(tmp_path / "rows.parquet")
