import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.spending.account import Account, Entry
from lightrag_dagster.spending.budget import Limit
from lightrag_dagster.spending.entries import ENTRIES
from lightrag_dagster.spending.ledger import Ledger, open_ledger
from lightrag_dagster.spending.tables import KEPT, LEDGER, RATE_LIMITS, RESERVED
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.table_dump import load_rows, save_rows


def entry(run: str, purpose: str, calls: int = 1, cost: float = 0.5) -> Entry:
    return Entry(run, purpose, "notes", "m", calls, 2, 100, 40, 10, cost)


def test_entries_add_up_by_run_and_purpose(address: Address) -> None:
    ledger = Ledger(address)
    assert (ledger.last_run(), ledger.spent("a"), ledger.by_purpose()) == (None, 0.0, {})
    assert not isinstance(address, Path) or not address.parent.exists()

    for one in (entry("a", "extract"), entry("a", "embed", cost=0.25), entry("b", "extract", calls=3)):
        ledger.add(one)

    assert ledger.last_run() == "b"
    assert ledger.spent("a") == 0.75
    assert ledger.by_purpose()["extract"] == Entry("", "extract", "", "m", 4, 4, 200, 80, 20, 1.0)
    assert list(ledger.by_purpose()) == ["embed", "extract"]


def test_costs_add_up_by_month_source_purpose_and_model(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(address)
    assert (ledger.costs(["month", "source"]), ledger.entries().num_rows) == ([], 0)
    days = {"2026-10-31": 20757, "2026-11-01": 20758, "2026-11-23": 20780, "before days were kept": 0}
    for day in days.values():
        monkeypatch.setattr("lightrag_dagster.spending.ledger._today", lambda day=day: day)
        ledger.add(entry("a", "extract"))
    ledger.add(Entry("b", "embed", "letters", "e", 1, 0, 7, 0, 0, 0.25))
    months = {row["month"]: (row["calls"], row["cost_usd"]) for row in ledger.costs(["month"])}
    assert months == {"2026-10": (1, 0.5), "2026-11": (2, 1.0), None: (2, 0.75)}
    assert [(row["purpose"], row["source"], row["input_tokens"]) for row in ledger.costs(["purpose", "source"])] == [
        ("embed", "letters", 7),
        ("extract", "notes", 400),
    ]
    assert len(ledger.costs(["month", "source", "purpose", "model"])) == 4
    entries = ledger.entries()
    assert entries.schema == ENTRIES
    assert [str(day) for day in entries["date"].to_pylist()] == [
        "2026-10-31",
        "2026-11-01",
        "2026-11-23",
        "None",
        "None",
    ]
    assert entries.slice(4).to_pylist()[0] == {"date": None} | vars(
        Entry("b", "embed", "letters", "e", 1, 0, 7, 0, 0, 0.25)
    )


def test_no_table_of_the_ledger_has_empty_values() -> None:
    assert {column.nullable for table in (*KEPT, RATE_LIMITS) for column in table.columns} == {False}


def test_a_receipt_is_entered_once(address: Address) -> None:
    ledger = Ledger(address)
    for receipt in ("one", "two", "one", None, None):
        ledger.add(entry("a", "extract", calls=1), receipt)
    assert ledger.by_purpose()["extract"].calls == 4


def test_a_step_that_asked_for_nothing_leaves_no_entry(address: Address) -> None:
    ledger = Ledger(address)
    ledger.add(Entry("a", "extract", "", "m", 0, 0, 0, 0, 0, 0.0))
    assert ledger.last_run() is None


def test_a_file_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=r"ledger\.sqlite is damaged; restore it"):
        Ledger(path).spent("a")
    with pytest.raises(StoreError, match="cannot be written; check the permissions"):
        Ledger(tmp_path).spent("a")


def test_a_ledger_of_an_older_version_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE ledger (number INTEGER PRIMARY KEY, run TEXT NOT NULL, purpose TEXT NOT NULL,
                source TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL, stored INTEGER NOT NULL,
                input_tokens INTEGER NOT NULL, cached_input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
                cost_usd REAL NOT NULL);
            CREATE TABLE receipts (receipt TEXT PRIMARY KEY);
            INSERT INTO ledger VALUES (1, 'a', 'extract', 'notes', 'm', 1, 2, 100, 40, 10, 0.5);
            INSERT INTO receipts VALUES ('one');
            """
        )
    ledger = Ledger(path)
    assert ledger.last_run() == "a"
    ledger.add(entry("b", "extract"), "one")
    ledger.add(entry("b", "extract"), "two")
    assert ledger.by_purpose()["extract"] == Entry("", "extract", "", "m", 2, 4, 200, 80, 20, 1.0)
    limits = Ledger(path).limits(Account("c", "notes", max_cost_per_day_usd=9, max_cost_per_source_usd=9))
    assert [limit.spent for limit in limits] == [0.5, 1.0]


def test_money_that_an_older_version_has_set_aside_still_counts(address: Address) -> None:
    with open_ledger(address) as database, database.begin() as connection:
        for column in ("run", "under_way", "alive_until"):
            connection.exec_driver_sql(f"ALTER TABLE reserved DROP COLUMN {column}")
        connection.exec_driver_sql("INSERT INTO reserved VALUES ('batch', 5, 'notes', 0.5)")
    account = Account("a", "notes", 9, 9, 9)
    assert [limit.spent for limit in Ledger(address).limits(account)] == [0.0, 0.0, 0.5]
    assert Ledger(address).reserve("another batch", account, 0.25) is None
    assert [limit.spent for limit in Ledger(address).limits(account)] == [0.25, 0.25, 0.75]


def test_money_set_aside_in_a_backup_of_an_older_version_still_counts(address: Address, tmp_path: Path) -> None:
    rows = pa.table({"name": ["batch"], "day": [5], "source": ["notes"], "usd": [0.5]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    with open_ledger(address) as database:
        load_rows(database, RESERVED, tmp_path / "rows.parquet")
    assert Ledger(address).limits(Account("a", "notes", max_cost_per_source_usd=9)) == [Limit("source", 9, 0.5)]


def test_a_rate_limit_is_shared_and_begins_now_when_it_has_run_out(address: Address) -> None:
    ledger = Ledger(address)
    assert ledger.reserve_time("requests", 30.0) == pytest.approx(30.0, abs=1.0)
    assert Ledger(address).reserve_time("requests", 30.0) == pytest.approx(60.0, abs=1.0)
    assert ledger.reserve_time("tokens", 5.0) == pytest.approx(5.0, abs=1.0)
    assert ledger.reserve_time("over", 0.0) == pytest.approx(0.0, abs=0.01)
    assert ledger.reserve_time("over", 10.0) == pytest.approx(10.0, abs=1.0)


@pytest.mark.parametrize("cost", [-1e6, math.inf, -math.inf])
def test_a_cost_that_no_call_can_have_counts_as_nothing(address: Address, cost: float) -> None:
    """Older versions entered what a provider had said."""
    ledger, account = Ledger(address), Account("a", "notes", 9, 9, 9, 9)
    with open_ledger(address) as database, database.begin() as connection:
        row = {"name": "wrong", "day": 10**6, "source": "notes", "run": "a", "usd": cost}
        connection.execute(database.insert(RESERVED), row)
    for one in (entry("a", "extract", cost=0.5), entry("a", "extract", cost=cost)):
        ledger.add(one)
    assert [limit.spent for limit in ledger.limits(account)] == [0.5, 0.5, 0.5, 0.5]
    assert ledger.spent("a") == ledger.by_purpose()["extract"].cost_usd == ledger.costs(["month"])[0]["cost_usd"] == 0.5
    assert ledger.entries()["cost_usd"].to_pylist() == [0.5, 0.0]


@pytest.mark.parametrize("wrong", ["-100", "9e999", "-9e999", "'many'", "9223372036854775807"])
def test_tokens_that_no_call_can_have_count_as_nothing(tmp_path: Path, wrong: str) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for _ in range(3):
        ledger.add(entry("a", "extract"))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection, connection:
        connection.execute(f"UPDATE ledger SET input_tokens = {wrong} WHERE number > 1")
    assert ledger.by_purpose()["extract"].input_tokens == ledger.costs(["month"])[0]["input_tokens"] == 100
    assert ledger.entries()["input_tokens"].to_pylist() == [100, 0, 0]
    with open_ledger(tmp_path / "ledger.sqlite") as database:
        assert save_rows(database, LEDGER, tmp_path / "ledger.parquet") == 3
