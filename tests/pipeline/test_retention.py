"""Retention that works by itself after publications."""

import pytest
from pydantic import ValidationError

from lightrag_dagster.cli.run import print_outcome
from lightrag_dagster.cli.terminal import console
from lightrag_dagster.errors import StoreError
from lightrag_dagster.orchestration.runner import Outcome
from lightrag_dagster.pipeline.retention import (
    collect_after_publication,
    collect_by_hand,
    disk_of,
    last_collection,
)
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.files.files import Files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots import lance_files, snapshots
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from tests.storage.years import Years

LAST = RetentionSettings(snapshots=1, grace_days=0)


def ids(home: Home) -> list[str]:
    return [one.snapshot_id for one in list_snapshots(home)]


@pytest.mark.long
def test_a_new_home_keeps_the_grace_period(years: Years) -> None:
    home = Home(years(3)[0].home)
    assert len(ids(home)) == 3, "they were published a moment ago"
    assert last_collection(home) is None
    assert collect_after_publication(home, RetentionSettings(automatic=False, snapshots=1, grace_days=0)) is None
    assert len(ids(home)) == 3
    done = collect_after_publication(home, LAST)
    assert done is not None
    assert done.snapshots == 2
    assert str(done).startswith("gc removed ")
    assert f"B (old snapshots: 2, table versions: {done.table_versions}); " in str(done)
    assert collect_after_publication(home, LAST) is None


@pytest.mark.long
def test_named_held_and_open_snapshots_stay(years: Years) -> None:
    home = Home(years(4)[0].home)
    named, held, opened, last = ids(home)
    snapshots.pin(home, "audit", named)
    snapshots.rollback(home, held)
    reader = open_snapshot(home, opened)
    assert collect_after_publication(home, LAST) is None
    assert ids(home) == [named, held, opened, last]
    reader.close()
    done = collect_after_publication(home, LAST)
    assert done is not None
    assert done.snapshots == 1
    assert ids(home) == [named, held, last]


@pytest.mark.long
def test_nothing_is_listed_while_every_snapshot_is_kept(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(years(2)[0].home)

    def list_folder(*_: object) -> None:
        raise StoreError("it was listed")

    monkeypatch.setattr(Files, "list_folder", list_folder)
    assert collect_after_publication(home, RetentionSettings()) is None
    found = collect_after_publication(home, LAST)
    assert found is not None
    assert found.failed == "it was listed"
    assert collect_after_publication(home, RetentionSettings()) is None
    assert last_collection(home) is None, "it failed before, and now there is nothing to remove"


def test_a_failure_is_said_and_what_was_published_stays(years: Years, capfd: pytest.CaptureFixture[str]) -> None:
    home = Home(years(3)[0].home)
    *_, last = ids(home)
    damaged = home.newest
    content = damaged.read_text()
    damaged.write_text("{")

    found = collect_after_publication(home, LAST)

    assert found is not None
    assert found == last_collection(home)
    assert "gc failed: " in str(found)
    assert "NEWEST is damaged" in str(found)
    print_outcome(console(), Outcome(published=snapshots.read_manifest(home, last), tidied=[str(found)]))
    assert "gc failed: " in capfd.readouterr()[0]
    assert len(ids(home)) == 3

    damaged.write_text(content)
    done = collect_after_publication(home, LAST)
    assert done is not None
    assert (done.failed, done.snapshots) == ("", 2)


def test_gc_by_hand_is_recorded(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance_files, "MAX_DELETED_SHARE", 1)
    home = Home(years(2)[0].home)
    before = disk_of(home, LAST)
    with building(home, 0) as lock:
        assert len(collect_by_hand(home, LAST, lock, dry_run=True).generations) == 1
        assert last_collection(home) is None
        done = collect_by_hand(home, LAST, lock, dry_run=False)
    assert len(done.generations) == 1
    recorded = last_collection(home)
    assert recorded is not None
    assert (recorded.snapshots, recorded.bytes_removed) == (1, done.bytes_removed)
    assert (before.snapshots, before.removable_bytes > 0) == (1, True)
    assert disk_of(home, LAST) == (1, before.kept_bytes, 0)


def test_a_damaged_record_stops_no_publication_and_is_written_again(years: Years) -> None:
    home = Home(years(2)[0].home)
    home.collected.write_text("garbage")
    found = collect_after_publication(home, LAST)
    assert found is not None
    assert "collected.json is damaged; `lightrag-dagster gc` writes it again" in found.failed
    assert last_collection(home) == found


def test_a_time_longer_than_a_century_is_refused() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 36500"):
        RetentionSettings.model_validate({"grace_days": float("inf")})
