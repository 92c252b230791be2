"""A run mends what it can of the records of a home by itself, and a message says so only where it is true."""

import asyncio
from pathlib import Path

import pytest

from lightrag_dagster.errors import BuilderLockedError, SettingsError, StoreError
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.settings import RetentionSettings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import GRAPH, GRAPH_RECORD, Generation
from lightrag_dagster.storage.snapshots.repair import find_published_damage, repair_published
from lightrag_dagster.storage.snapshots.verify import find_damage
from tests.storage.corpus import OFFICE, RIVER, build, copy_of, home_of, merge, publish


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    """The second of two snapshots."""
    home = home_of(tmp_path_factory.mktemp("built"), river=RIVER, office=OFFICE)
    publish(asyncio.run(build(merge(home, "river"))))
    generation = asyncio.run(build(merge(home, "river", "office")))
    publish(generation)
    return generation


@pytest.fixture
def generation(built: Generation, tmp_path: Path) -> Generation:
    return copy_of(built, tmp_path)


@pytest.mark.parametrize("content", ["", '{"id": 3}'])
def test_a_damaged_pointer_is_written_again(generation: Generation, content: str) -> None:
    home = generation.home
    home.published.write_text(content)
    home.newest.write_text(content)
    with pytest.raises(StoreError, match="PUBLISHED is damaged; `lightrag-dagster run` writes it again"):
        snapshots.published_snapshot(home)
    assert [one.path.name for one in find_published_damage(home)] == ["PUBLISHED", "NEWEST"]

    assert [str(one) for one in repair_published(home, set())] == [
        f"{home.published} is damaged",
        f"{home.newest} is damaged",
    ]
    current = snapshots.published_snapshot(home)
    assert current is not None
    assert current.snapshot_id == generation.id
    assert not home.newest.exists()
    assert find_published_damage(home) == []


@pytest.mark.parametrize("name", ["PUBLISHED", "NEWEST", f"generations/*/{GRAPH_RECORD}", f"generations/*/{GRAPH}"])
def test_a_folder_in_place_of_a_file_is_removed(generation: Generation, name: str) -> None:
    home = generation.home
    for path in [*home.root.glob(name)] or [home.root / name]:
        path.unlink(missing_ok=True)
        (path / "below").mkdir(parents=True)
    assert len(repair_published(home, set())) == 1
    assert find_published_damage(home) == []
    assert snapshots.require_published(home).snapshot_id == generation.id


def test_the_held_snapshot_is_pointed_to_again(generation: Generation) -> None:
    home = generation.home
    first = snapshots.list_snapshots(home)[0].snapshot_id
    snapshots.rollback(home, first)
    home.published.write_text("")
    repair_published(home, set())
    current = snapshots.published_snapshot(home)
    assert current is not None
    assert current.snapshot_id == first


def test_a_damaged_hold_says_what_deleting_it_means(generation: Generation) -> None:
    generation.home.held.write_text("{")
    with pytest.raises(StoreError, match="HELD is damaged; delete it; then no rollback holds a snapshot"):
        snapshots.newest_snapshot(generation.home)


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("root")
    with pytest.raises(SettingsError, match="passwd is a file; name the folder of a home"):
        Home.of(load_settings(home=tmp_path / "passwd"))


def test_each_database_says_what_moving_it_away_costs(tmp_path: Path) -> None:
    for name, store, price in (
        ("responses", ResponseStore, "its answers are then paid for again"),
        ("vectors", VectorStore, "its vectors are then paid for again"),
        ("ledger", lambda path: Ledger(path).by_purpose(), "nothing is paid for again, and budgets count from zero"),
    ):
        path = tmp_path / f"{name}.sqlite"
        path.write_bytes(b"this is not a database, but long enough to look like something" * 100)
        with pytest.raises(StoreError, match=rf"is damaged; restore it from a backup, or move it away \({price}\)"):
            store(path)


def test_what_no_snapshot_needs_goes_after_a_vector_table_was_made_again(
    generation: Generation, caplog: pytest.LogCaptureFixture
) -> None:
    """A repair removes the table with the versions of other kept snapshots, which are damaged from then on."""
    home, (earlier, _) = generation.home, snapshots.list_snapshots(generation.home)
    for path in home.lance.glob("entity_vectors-*.lance/data/*"):
        path.unlink()
    assert repair_published(home, set())
    publish(asyncio.run(build(merge(home, "river", "office"))))
    kept = RetentionSettings(snapshots=2, grace_days=9)

    garbage = collect_garbage(home, kept, dry_run=False)

    assert {earlier.snapshot_id, generation.id} == garbage.kept.keys()
    assert find_damage(home, generation.id, verify=True) == []
    entry = earlier.vectors.tables["entity_vectors"]
    with pytest.raises(StoreError, match=f"vector table {entry.table} cannot be used: .*{earlier.snapshot_id}.json"):
        open_vectors(home, entry)

    (home.lance / f"{entry.table}.lance" / "_refs" / "tags" / f"{generation.id}.json").unlink()
    with pytest.raises(StoreError, match="lacks a version that a snapshot reads"):
        collect_garbage(home, kept, dry_run=False)


def test_an_earlier_generation_is_published_again_after_a_vector_table_was_made_again(generation: Generation) -> None:
    home, (earlier, _) = generation.home, snapshots.list_snapshots(generation.home)
    for path in home.lance.glob("entity_vectors-*.lance/data/*"):
        path.unlink()
    assert repair_published(home, set())
    publish(asyncio.run(build(merge(home, "river", "office"))))

    again = asyncio.run(build(merge(home, "river")))
    publish(again)

    assert again.id == earlier.snapshot_id
    assert find_damage(home, again.id, verify=True) == []


def test_a_pin_on_a_snapshot_that_is_lost_stops_no_collection(generation: Generation) -> None:
    home = generation.home
    snapshots.pin(home, "release", generation.id)
    generation.path("entities.parquet").unlink()
    assert repair_published(home, set())
    assert not generation.path("").exists()

    assert generation.id not in collect_garbage(home, RetentionSettings(snapshots=1), dry_run=False).kept

    publish(asyncio.run(build(merge(home, "river", "office"))))
    assert snapshots.snapshot_named(home, "release").snapshot_id == generation.id


@pytest.mark.parametrize("name", ["generation.json", "vectors.json"])
def test_a_record_that_was_deleted_as_advised_stops_no_collection(generation: Generation, name: str) -> None:
    home, (earlier, _) = generation.home, snapshots.list_snapshots(generation.home)
    before = set(home.root.glob("tables/*/river/*.parquet"))
    (home.generation(earlier.snapshot_id) / name).unlink()

    garbage = collect_garbage(home, RetentionSettings(snapshots=2), dry_run=False)

    assert earlier.snapshot_id in garbage.kept
    assert set(home.root.glob("tables/*/river/*.parquet")) == before
    assert open_vectors(home, earlier.vectors.tables["entity_vectors"]).rows(["id"]).num_rows


def test_who_lost_the_lock_collects_no_folder(generation: Generation) -> None:
    class Lost:
        def still_held(self) -> bool:
            return False

    home, (earlier, _) = generation.home, snapshots.list_snapshots(generation.home)
    with pytest.raises(BuilderLockedError, match="lost"):
        collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False, lock=Lost())
    assert find_damage(home, earlier.snapshot_id) == []
