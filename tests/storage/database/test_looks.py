"""The last attempts at sources, in either kind of database."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.database.looks import Looks


def test_it_keeps_the_last_good_attempt_and_why_later_ones_failed(address: Address) -> None:
    looks = Looks(address)
    assert looks.read() == {}
    looks.good([])
    looks.good(["notes", "wiki"])
    first = looks.read()
    assert {source: (look.good_at is not None, look.error) for source, look in first.items()} == {
        "notes": (True, None),
        "wiki": (True, None),
    }
    with pytest.raises(BudgetExceededError), looks.noting("wiki"):
        raise BudgetExceededError("the budget of $1 is used up: $1 was spent")
    looks.failed("legal", "no such source", backfill=True)
    now = looks.read()
    assert (now["notes"], now["wiki"].good_at) == (first["notes"], first["wiki"].good_at)
    assert now["wiki"].error == "the budget of $1 is used up: $1 was spent"
    assert [(source, look.good_at, look.error) for source, look in looks.read(backfill=True).items()] == [
        ("legal", None, "no such source")
    ]
    looks.good(["wiki"])
    assert looks.read()["wiki"][1:] == (None, None)


def test_an_error_of_ours_alone_is_noted(address: Address) -> None:
    with pytest.raises(ValueError, match="a bug"), Looks(address).noting("wiki"):
        raise ValueError("a bug")
    assert Looks(address).read() == {}


def test_reasons_are_forgotten_whole(tmp_path: Path) -> None:
    looks = Looks(tmp_path / "ledger.sqlite")
    looks.failed("wiki", "letters/Zuckerwatte.md cannot be read")
    looks.forget_reasons()
    assert looks.read()["wiki"].error is None
    assert not [path for path in tmp_path.iterdir() if b"Zuckerwatte" in path.read_bytes()]


def test_reading_makes_no_table(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    assert Looks(file).read() == {}
    assert not file.exists()
    Database(file, []).close()
    before = file.read_bytes()
    assert Looks(file).read() == {}
    assert file.read_bytes() == before
