import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import StoreError
from lightrag_dagster.spending.account import Account, Entry
from lightrag_dagster.spending.entries import ENTRIES
from lightrag_dagster.spending.ledger import Ledger, lost_stores
from lightrag_dagster.spending.tables import KEPT, RATE_LIMITS, set_aside
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home


def entry(run: str, purpose: str, calls: int = 1, cost: float = 0.5) -> Entry:
    return Entry(run, purpose, "notes", "m", calls, 2, 100, 40, 10, cost)


def test_entries_add_up_by_run_and_purpose(address: Address) -> None:
    ledger = Ledger(address)
    assert (ledger.spent("a"), ledger.by_purpose()) == (0.0, {})
    assert not isinstance(address, Path) or not address.parent.exists()

    answered = entry("c", "extract", calls=0, cost=0.0)  # from the store alone
    for one in (entry("a", "extract"), entry("a", "embed", cost=0.25), entry("b", "extract", calls=3), answered):
        ledger.add(one)

    assert ledger.spent("a") == 0.75
    assert ledger.by_purpose()["extract"] == Entry("", "extract", "", "", 4, 6, 300, 120, 30, 1.0)
    assert list(ledger.by_purpose()) == ["embed", "extract"]


def test_costs_add_up_by_month_source_purpose_and_model(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(address)
    assert (ledger.costs(["month", "source"]), ledger.entries().num_rows) == ([], 0)
    days = {"2026-10-31": 20757, "2026-11-01": 20758, "2026-11-23": 20780}
    for day in days.values():
        monkeypatch.setattr("lightrag_dagster.spending.ledger.today", lambda day=day: day)
        ledger.add(entry("a", "extract"))
    ledger.add(Entry("b", "embed", "letters", "e", 1, 0, 7, 0, 0, 0.25))
    months = {row["month"]: (row["calls"], row["cost_usd"]) for row in ledger.costs(["month"])}
    assert months == {"2026-10": (1, 0.5), "2026-11": (3, 1.25)}
    assert [(row["purpose"], row["source"], row["input_tokens"]) for row in ledger.costs(["purpose", "source"])] == [
        ("embed", "letters", 7),
        ("extract", "notes", 300),
    ]
    assert len(ledger.costs(["month", "source", "purpose", "model"])) == 3
    entries = ledger.entries()
    assert entries.schema == ENTRIES
    assert [str(day) for day in entries["date"].to_pylist()] == [
        "2026-10-31",
        "2026-11-01",
        "2026-11-23",
        "2026-11-23",
    ]
    assert entries.slice(3).to_pylist()[0] == {"date": date(2026, 11, 23)} | vars(
        Entry("b", "embed", "letters", "e", 1, 0, 7, 0, 0, 0.25)
    )


def test_no_table_of_the_ledger_has_empty_values() -> None:
    assert {column.nullable for table in (*KEPT, RATE_LIMITS) for column in table.columns} == {False}


def test_threads_that_come_first_together_open_one_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, opened, opening = Ledger(tmp_path / "ledger.sqlite"), list[Database](), threading.Event()

    def slowly(database: Database) -> object:
        opened.append(database)
        opening.set()
        time.sleep(0.1)
        return set_aside(database)

    monkeypatch.setattr("lightrag_dagster.spending.ledger.set_aside", slowly)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ledger.reserve, "one", Account("a", "notes"), 0.1, 60)
        assert opening.wait(60)
        second = threads.submit(ledger.reserve, "another", Account("a", "notes"), 0.1, 60)
        assert (first.result(), second.result()) == (None, None)
    assert len(opened) == 1
    assert ledger.spent("a") == 0.2


def test_a_receipt_is_entered_once(address: Address) -> None:
    ledger = Ledger(address)
    for receipt in ("one", "two", "one", None, None):
        ledger.add(entry("a", "extract", calls=1), receipt)
    assert ledger.by_purpose()["extract"].calls == 4


def test_a_step_that_asked_for_nothing_leaves_no_entry(address: Address) -> None:
    ledger = Ledger(address)
    ledger.add(Entry("a", "extract", "", "m", 0, 0, 0, 0, 0, 0.0))
    assert ledger.by_purpose() == {}


def test_a_file_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=r"ledger\.sqlite is damaged; restore it"):
        Ledger(path).spent("a")
    with pytest.raises(StoreError, match="cannot be written; check the permissions"):
        Ledger(tmp_path).spent("a")


def test_a_rate_limit_is_shared_and_begins_now_when_it_has_run_out(address: Address) -> None:
    ledger = Ledger(address)
    assert ledger.reserve_time("requests", 30.0) == pytest.approx(30.0, abs=1.0)
    assert Ledger(address).reserve_time("requests", 30.0) == pytest.approx(60.0, abs=1.0)
    assert ledger.reserve_time("tokens", 5.0) == pytest.approx(5.0, abs=1.0)
    assert ledger.reserve_time("over", 0.0) == pytest.approx(0.0, abs=0.01)
    assert ledger.reserve_time("over", 10.0) == pytest.approx(10.0, abs=1.0)


@pytest.mark.parametrize(("ahead", "delay"), [(80_000.0, 80_010.0), (90_000.0, 10.0)])
def test_reservations_of_a_clock_that_was_fast_do_not_hold_calls_back(
    address: Address, ahead: float, delay: float
) -> None:
    ledger = Ledger(address)
    ledger.reserve_time("requests", ahead)
    assert ledger.reserve_time("requests", 10.0) == pytest.approx(delay, abs=1.0)


def test_a_store_is_missed_before_it_is_opened_and_no_other_then(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for purpose in ("extract", "embed"):
        Ledger(home.ledger).add(entry("a", purpose))
    Database(home.responses, []).close()
    (line,) = lost_stores(home)
    assert "vectors.sqlite is missing, which kept the vectors of models" in line
    assert (lost_stores(home, home.responses), lost_stores(home, home.vectors)) == ([], [line])


def test_a_database_that_holds_nothing_of_a_published_home_is_named(tmp_path: Path, postgres: SecretStr) -> None:
    home = Home(tmp_path, postgres)
    assert lost_stores(home) == []
    home.published.write_text("{}")
    (line,) = lost_stores(home)
    assert f"holds nothing of {tmp_path}, which has published; set LIGHTRAG_DATABASE" in line
    assert Ledger(home.ledger).limits(Account("run", max_cost_usd=1.0))[0].spent == 0
    assert lost_stores(home) == [line], "nothing was written"
    Looks(home.ledger).good(["notes"])
    assert lost_stores(home) == []
