from pathlib import Path

import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.spending.ledger import Entry, Ledger


def entry(run: str, purpose: str, calls: int = 1, cost: float = 0.5) -> Entry:
    return Entry(run, purpose, "notes", "m", calls, 2, 100, 40, 10, cost)


def test_entries_add_up_by_run_and_purpose(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "home" / "ledger.sqlite")
    assert (ledger.last_run(), ledger.spent("a"), ledger.by_purpose()) == (None, 0.0, {})
    assert list(tmp_path.iterdir()) == []

    for one in (entry("a", "extract"), entry("a", "embed", cost=0.25), entry("b", "extract", calls=3)):
        ledger.add(one)

    assert ledger.last_run() == "b"
    assert ledger.spent("a") == 0.75
    assert ledger.by_purpose()["extract"] == Entry("", "extract", "", "m", 4, 4, 200, 80, 20, 1.0)
    assert list(ledger.by_purpose()) == ["embed", "extract"]


def test_a_receipt_is_entered_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for receipt in ("one", "two", "one", None, None):
        ledger.add(entry("a", "extract", calls=1), receipt)
    assert ledger.by_purpose()["extract"].calls == 4


def test_a_step_that_asked_for_nothing_leaves_no_entry(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.add(Entry("a", "extract", "", "m", 0, 0, 0, 0, 0, 0.0))
    assert ledger.last_run() is None


def test_a_file_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=r"ledger\.sqlite is damaged; restore it"):
        Ledger(path).spent("a")
    with pytest.raises(StoreError, match="cannot be written; check the permissions"):
        Ledger(tmp_path).spent("a")
