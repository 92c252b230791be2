"""Sessions of writers, and what readers take over from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage.files.bucket import BucketFiles
from tests.storage.files.machines import Machine, write

TABLE = "tables/chunks/notes/1.parquet"
RECORD = "tables/chunks/notes/current.json"
GRAPH = "generations/gen-1/graph.kuzu"


def test_records_are_fresh_and_data_is_fetched_when_needed(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with one.files.session():
        table, record = write(one, TABLE, "rows"), write(one, RECORD, "1")
    assert isinstance(one.files, BucketFiles)
    assert one.files.mirror.held([table, record]) == {table, record}
    other.files.refresh()
    assert (other.root / RECORD).read_text() == "1"
    assert not (other.root / TABLE).exists()
    other.files.open([other.root / TABLE, other.root / "tables/chunks/notes/2.parquet"])
    assert (other.root / TABLE).read_text() == "rows"
    assert sorted(path.name for path in other.root.glob("tables/chunks/notes/*")) == ["1.parquet", "current.json"]
    with one.files.session():
        record.unlink()
    other.files.refresh()
    assert not (other.root / RECORD).exists()


def test_what_the_bucket_lacks_is_in_the_cache_at_no_time(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    home, placed = machine("one"), list[Path]()
    monkeypatch.setattr(Path, "replace", lambda _, target: placed.append(target))
    assert not home.files.open([home.root / TABLE, home.root / GRAPH])[0].exists()
    assert not placed


def test_what_was_not_pushed_is_forgotten_by_the_next_writer(machine: Machine) -> None:
    one = machine("one")
    with one.files.session():
        write(one, RECORD, "1")
        write(one, "generations/gen-1/generation.json", "{}")
    write(one, RECORD, "never pushed")
    write(one, "accepted/notes.json", "never pushed")
    write(one, "generations/gen-1/graph.kuzu", "never pushed")
    write(one, "generations/gen-2/entities.parquet", "never pushed")
    with one.files.session():
        assert (one.root / RECORD).read_text() == "1"
        assert not (one.root / "accepted/notes.json").exists()
        assert [path.name for path in one.root.glob("generations/*/*")] == ["generation.json"]


class LostLock:
    """A lock that was lost after it was acquired."""

    def still_held(self) -> bool:
        return False


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that were stored in the bucket, in order."""
    keys: list[str] = []
    for method in (Objects.upload, Objects.replace):

        def noted(self: Objects, key: str, *rest: Any, of: Callable[..., Any] = method, **options: Any) -> Any:
            keys.append(key)
            return of(self, key, *rest, **options)

        monkeypatch.setattr(Objects, method.__name__, noted)
    return keys


WRITTEN = ("PUBLISHED", "accepted/notes.json", "NEWEST", RECORD, TABLE, "generations/gen-1/generation.json", GRAPH)


def test_what_a_pointer_leads_to_is_stored_before_it(machine: Machine, stored: list[str]) -> None:
    with machine("one").files.session():
        for name in WRITTEN:
            write(machine("one"), name, "written")
    records = ("generations/gen-1/generation.json", RECORD, "accepted/notes.json", "NEWEST", "PUBLISHED")
    assert set(stored[:2]) == {TABLE, f"{GRAPH}.zst"}
    assert stored[2:] == [f"records/{name}" for name in records]


def test_of_a_builder_that_lost_its_lock_nothing_is_stored(machine: Machine, stored: list[str]) -> None:
    with (  # noqa: PT012
        pytest.raises(BuilderLockedError, match="nothing was published"),
        machine("one").files.session(LostLock()),
    ):
        for name in WRITTEN:
            write(machine("one"), name, "written")
    assert stored == []


def test_a_record_that_another_thread_removes_meanwhile_is_left_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, open_file = machine("one"), Path.open
    with home.files.session():
        records = [write(home, f"accepted/{name}.json", "1") for name in ("notes", "letters")]

        def open_one(path: Path, *mode: Any, **more: Any) -> Any:
            for other in set(records) - {path} if path in records and path.exists() else ():
                other.unlink(missing_ok=True)
            return open_file(path, *mode, **more)

        monkeypatch.setattr(Path, "open", open_one)
    assert [path.name for path in machine("other").root.glob("accepted/*")] == []
    machine("other").files.refresh()
    assert len([*machine("other").root.glob("accepted/*")]) == 1


def test_nothing_is_pushed_outside_a_block(machine: Machine) -> None:
    one = machine("one")
    write(one, "PUBLISHED", "left by a killed process")
    one.files.push()
    one.files.refresh()
    assert not one.published.exists()


def test_a_block_within_takes_over_what_other_ingestions_wrote_and_keeps_what_it_wrote(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with one.files.session():
        write(one, "accepted/mine.json", "mine")
        write(one, "NEWEST", "mine")
        with other.files.session():
            write(other, "accepted/yours.json", "yours")
        with one.files.session():
            assert (one.root / "accepted/yours.json").read_text() == "yours"
            assert (one.root / "accepted/mine.json").read_text() == "mine"
    other.files.refresh()
    assert (other.root / "NEWEST").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"), [("PUBLISHED", "another builder published"), (RECORD, "another ingestion wrote")]
)
def test_the_slower_of_two_writers_is_told(machine: Machine, name: str, message: str) -> None:
    one, other = machine("one"), machine("other")
    with pytest.raises(StoreError, match=message), one.files.session():  # noqa: PT012
        with other.files.session():
            write(other, name, "quicker")
        write(one, name, "slower")
    one.files.refresh()
    assert (one.root / name).read_text() == "quicker"


def test_what_a_failed_block_wrote_is_there_as_on_a_disk(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with pytest.raises(KeyError), one.files.session():  # noqa: PT012
        write(one, RECORD, "1")
        raise KeyError
    other.files.refresh()
    assert (other.root / RECORD).read_text() == "1"


def test_what_was_refused_once_is_stored_at_the_second_try(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, answers = machine("one"), machine("other"), iter([True])
    replace = Objects.replace

    def refuses_once(objects: Objects, *arguments: Any) -> object:
        if next(answers, False):
            raise StoreError("AccessDenied")
        return replace(objects, *arguments)

    monkeypatch.setattr(Objects, "replace", refuses_once)
    with one.files.session():
        write(one, RECORD, "1")
    other.files.refresh()
    assert (other.root / RECORD).read_text() == "1"


def test_a_folder_is_removed_on_disk_and_in_the_bucket(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with one.files.session():
        write(one, "generations/gen-1/generation.json", "{}")
        write(one, "generations/gen-1/graph.kuzu", "graph")
    with other.files.session():
        assert list(other.files.list_folder(other.generations)) == [other.generation("gen-1") / "graph.kuzu"]
        other.files.remove_folder(other.generation("gen-1"))
    assert one.files.list_folder(one.generations) == {}
    one.files.refresh()
    assert not one.generation("gen-1").exists()


class HeldLock:
    """A lock that is held."""

    def still_held(self) -> bool:
        return True


def test_records_are_taken_over_once_for_each_lock(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    building, ingesting = HeldLock(), HeldLock()
    with one.files.session(building):
        with other.files.session():
            write(other, RECORD, "1")
        with one.files.session(building):
            assert not (one.root / RECORD).exists()
        with one.files.session(ingesting):
            assert (one.root / RECORD).read_text() == "1"
