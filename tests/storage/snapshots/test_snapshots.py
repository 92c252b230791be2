import asyncio
from itertools import product
from pathlib import Path

import pytest

from lightrag_dagster.errors import BuilderLockedError, IntegrityError, QueryError, StoreError
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.manifests import Gates, Hold
from lightrag_dagster.storage.records import Pointer, write_record
from lightrag_dagster.storage.snapshots import generations, snapshots
from lightrag_dagster.storage.snapshots.generations import Generation, remove_leftovers
from lightrag_dagster.storage.snapshots.snapshots import (
    list_snapshots,
    newest_snapshot,
    published_snapshot,
    read_manifest,
    snapshot_named,
)
from lightrag_dagster.storage.snapshots.verify import find_damage
from tests.storage.corpus import OFFICE, RIVER, build, copy_of, home_of, merge, publish


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Generation, Generation]:
    """Two finished generations of one home, of one source and of both."""
    home = home_of(tmp_path_factory.mktemp("two"), river=RIVER, office=OFFICE)
    return generation_of(home, "river"), generation_of(home, "river", "office")


@pytest.fixture
def first(two: tuple[Generation, Generation], tmp_path: Path) -> Generation:
    return copy_of(two[0], tmp_path)


@pytest.fixture
def second(two: tuple[Generation, Generation], first: Generation) -> Generation:
    return Generation(first.home, two[1].id)


def generation_of(home: Home, *sources: str) -> Generation:
    return asyncio.run(build(merge(home, *sources)))


def test_nothing_is_published_in_a_new_home(tmp_path: Path) -> None:
    assert published_snapshot(Home(tmp_path)) is None
    assert list_snapshots(Home(tmp_path)) == []


def test_of_a_held_snapshot_alone_there_is_no_newest(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.held.write_text(Hold(id="gen-1").model_dump_json())
    assert snapshots.newest_snapshot(home) is None
    with pytest.raises(StoreError, match=r"has no snapshot to publish; delete .*HELD and run"):
        snapshots.release(home)


def test_a_manifest_says_what_a_snapshot_is_made_of(second: Generation) -> None:
    home, generation = second.home, second
    published = publish(generation)
    assert published.snapshot_id == generation.id
    assert published.sequence == 1
    assert published.inputs == generation.inputs()
    assert published.rows == {
        "raw_documents": 3,
        "chunks": 5,
        "extractions": 5,
        "entity_mentions": 11,
        "relation_mentions": 6,
        "parsed": 5,
        "entities": 5,
        "relations": 5,
        "entity_evidence": 9,
        "relation_evidence": 5,
    }
    assert {name: (entry.rows, entry.dimensions) for name, entry in published.vectors.tables.items()} == {
        "chunk_vectors": (4, 8),
        "entity_vectors": (5, 8),
        "relation_vectors": (5, 8),
    }
    assert published_snapshot(home) == read_manifest(home, generation.id) == published


def test_publishing_the_current_snapshot_again_changes_nothing(first: Generation) -> None:
    home = first.home
    published = publish(first)
    before = {path: path.stat().st_mtime_ns for path in home.root.rglob("*")}
    assert publish(first) == published
    assert {path: path.stat().st_mtime_ns for path in home.root.rglob("*")} == before


@pytest.mark.long
def test_the_sequence_goes_on(first: Generation, second: Generation) -> None:
    home = first.home
    assert [publish(one).sequence for one in (first, second)] == [1, 2]
    assert [one.snapshot_id for one in list_snapshots(home)] == [first.id, second.id]
    assert publish(first).sequence == 3
    assert [one.snapshot_id for one in list_snapshots(home)] == [second.id, first.id]


def test_a_broken_generation_is_not_published(first: Generation, second: Generation) -> None:
    home, bad = first.home, second
    good = publish(first)
    for table in ("entities", "relations"):
        atomic.write_parquet(bad.path(f"{table}.parquet"), bad.read_table(table).slice(1))
    with pytest.raises(IntegrityError, match=rf"{bad.id} must not be published: .*; and \d+ more; delete") as refused:
        publish(bad)
    assert "\n" not in str(refused.value)
    assert published_snapshot(home) == good
    assert not bad.has("manifest.json")


def test_a_builder_that_lost_its_lock_publishes_nothing(first: Generation, second: Generation) -> None:
    home, good = first.home, publish(first)
    with building(home, 0) as lock:
        home.lock.unlink()
        with pytest.raises(BuilderLockedError, match="lock was lost"):
            snapshots.publish(home, second, [], lock)
        assert published_snapshot(home) == good
    with building(home, 0) as lock:
        assert snapshots.publish(home, second, [], lock).snapshot_id == second.id
    assert published_snapshot(home) != good


@pytest.mark.parametrize("content", ["", "gen-1", '{"snapshot": "gen-1"}'])
def test_a_damaged_pointer_is_named(tmp_path: Path, content: str) -> None:
    home = Home(tmp_path)
    home.published.write_text(content)
    with pytest.raises(StoreError, match="PUBLISHED is damaged; `lightrag-dagster run` writes it again") as refused:
        published_snapshot(home)
    assert "\n" not in str(refused.value)


def test_a_pointer_to_nothing_is_named(tmp_path: Path) -> None:
    write_record(Home(tmp_path).published, Pointer(id="gdn-1"))
    with pytest.raises(StoreError, match=r"snapshot gdn-1 in .*; PUBLISHED names it; .*run` writes it again"):
        published_snapshot(Home(tmp_path))


def test_a_damaged_manifest_is_named(first: Generation) -> None:
    home = first.home
    published = publish(first)
    path = home.generation(published.snapshot_id) / "manifest.json"
    path.write_text(path.read_text()[:40])
    with pytest.raises(
        StoreError,
        match=r"manifest\.json is damaged; `lightrag-dagster run` makes that of the published snapshot again",
    ):
        published_snapshot(home)
    path.unlink()
    with pytest.raises(StoreError, match=rf"there is no snapshot {published.snapshot_id} in"):
        published_snapshot(home)


def test_an_unknown_snapshot_is_named(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"there is no snapshot gen-x in .*snapshots"):
        snapshot_named(Home(tmp_path), "gen-x")


@pytest.mark.long
def test_a_half_built_generation_does_not_disturb_the_next_run(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    half = merge(home, "river")
    half.path("relations.parquet").unlink()
    for leftover in (".graph.kuzu.abc", ".views.duckdb.abc.tmp"):
        half.path(leftover).write_bytes(b"half")
    (home.root / ".PUBLISHED.abc.tmp").write_text('{"id"')
    remove_leftovers(home)
    published = publish(generation_of(home, "river"))
    assert published.snapshot_id == half.id
    assert not list(home.generation(half.id).glob(".*"))


@pytest.mark.parametrize(
    ("step", "by_gate"),
    [*product(("record_files", "atomic.sync_tree", "_point_or_hold"), (False, True)), ("set_published", True)],
)
def test_a_publication_that_was_interrupted_while_another_is_held_is_completed(
    first: Generation, second: Generation, monkeypatch: pytest.MonkeyPatch, step: str, *, by_gate: bool
) -> None:
    home = first.home
    publish(first)
    if by_gate:
        snapshots.publish(home, Generation(home, second.id), [], gates=Gates(faults=["too much changed"]))
        final = first  # as after an edit was taken back
    else:
        snapshots.rollback(home, first.id)
        final = second
    before = newest_snapshot(home)
    assert snapshots.held_snapshot(home) == first.id

    def stop(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(f"{snapshots.__name__}.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            publish(final)
    waits = newest_snapshot(home)
    assert waits is not None
    if waits == before:  # so that the next run publishes it
        publish(final)
    if not by_gate:
        snapshots.release(home)
    assert published_snapshot(home) == newest_snapshot(home) == list_snapshots(home)[-1]
    assert list_snapshots(home)[-1].snapshot_id == final.id
    assert snapshots.held_snapshot(home) is None
    assert find_damage(home, final.id, verify=True) == []


def test_a_hold_that_outlived_its_end_waits_for_no_earlier_snapshot(first: Generation, second: Generation) -> None:
    home = first.home
    withheld = publish(first).model_copy(update={"gates": Gates(faults=["too much changed"])})
    first.write_record(generations.MANIFEST, withheld)
    publish(second)
    atomic.write_text(home.held, Hold(id=first.id, by_gate=True).model_dump_json())  # a kill came before it was removed
    assert newest_snapshot(home) == published_snapshot(home)
    assert snapshots.release(home).snapshot_id == second.id


@pytest.mark.parametrize("moved", [False, True])
def test_a_release_that_was_killed_holds_nothing_back(
    first: Generation, second: Generation, monkeypatch: pytest.MonkeyPatch, *, moved: bool
) -> None:
    home, move = first.home, snapshots.set_published
    publish(second)
    snapshots.rollback(home, publish(first).snapshot_id)
    publish(second)

    def stop(*arguments: object, **named: object) -> None:
        if moved:
            move(home, second.id)
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(snapshots, "set_published", stop)
        with pytest.raises(KeyboardInterrupt):
            snapshots.release(home)
    assert snapshots.held_snapshot(home) == (None if moved else first.id)
    publish(Generation(home, first.id) if moved else second)
    current = published_snapshot(home)
    assert current is not None
    assert (current.snapshot_id, snapshots.held_snapshot(home)) == (first.id if moved else second.id, None)


def test_a_rollback_that_was_killed_after_another_still_holds(
    first: Generation, second: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = first.home
    publish(first)
    publish(second)
    snapshots.rollback(home, first.id)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(snapshots, "set_published", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            snapshots.rollback(home, second.id)
    assert snapshots.held_snapshot(home) == second.id
    publish(first)
    current = published_snapshot(home)
    assert current is not None
    assert current.snapshot_id == first.id
