"""Rollback, release, names and differences of snapshots beside real builds."""

import pytest

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from tests.storage.years import Years, build_year
from tests.support import published, run


@pytest.mark.long
def test_a_rollback_holds_until_release(years: Years) -> None:
    settings, (first, second) = years(2)
    home = Home(settings.home)

    assert snapshots.rollback(home, first).snapshot_id == first
    assert (published(settings).snapshot_id, snapshots.held_snapshot(home)) == (first, first)
    assert home.views.samefile(home.generation(first) / "views.duckdb")
    third = build_year(settings, 2003)

    assert third == first
    assert [one.sequence for one in list_snapshots(home)] == [1, 2, 3]
    assert run(settings).published is None
    newest = snapshots.release(home).snapshot_id
    assert newest not in (first, second)
    assert (published(settings).snapshot_id, snapshots.held_snapshot(home)) == (newest, None)
    assert home.views.samefile(home.generation(newest) / "views.duckdb")
    with pytest.raises(StoreError, match="no snapshot is held"):
        snapshots.release(home)


def test_who_lost_the_lock_rolls_nothing_back(years: Years) -> None:
    class Lost:
        def still_held(self) -> bool:
            return False

    settings, (first, second) = years(2)
    with pytest.raises(BuilderLockedError, match="lost"):
        snapshots.rollback(Home(settings.home), first, Lost())
    assert (published(settings).snapshot_id, snapshots.held_snapshot(Home(settings.home))) == (second, None)


def test_a_snapshot_that_cannot_be_opened_is_not_gone_back_to(years: Years) -> None:
    settings, (first, second) = years(2)
    home = Home(settings.home)
    (home.generation(first) / "entities.parquet").unlink()
    with pytest.raises(StoreError, match=rf"entities\.parquet is missing, so {first} cannot be opened; "):
        snapshots.rollback(home, first)
    assert (published(settings).snapshot_id, snapshots.held_snapshot(home)) == (second, None)


@pytest.mark.parametrize("name", ["gen-1", " ", "published", "a\nb", "a\x1bb", "a\u202eb"])
def test_a_name_is_not_an_id(settings: Settings, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be a name"):
        snapshots.pin(Home(settings.home), name, "gen-x")
