"""The folders of a cache: whose they are, and what is dropped from them."""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lightrag_dagster.storage.files import mirror
from lightrag_dagster.storage.files.cache import claim_folder, evict, remove_oldest
from lightrag_dagster.storage.files.notes import Note, Notes
from lightrag_dagster.storage.home import Home
from tests.storage.files.machines import Machine, write


def test_processes_of_a_machine_have_a_folder_each(machine: Machine) -> None:
    first = machine("one")
    with first.files.session():
        write(first, "generations/gen-1/graph.kuzu", "graph")
    second = Home(first.root.parent / "1", first.database, first.bucket, first.cached_bytes)
    second.files.open_folder(second.generation("gen-1"))
    paths = [home.generation("gen-1") / "graph.kuzu" for home in (first, second)]
    assert [path.read_text() for path in paths] == ["graph", "graph"]
    assert not paths[0].samefile(paths[1])


def test_the_cache_drops_what_was_not_used_for_longest(tmp_path: Path) -> None:
    now, notes = time.time(), Notes(tmp_path)
    for name, age in (("old", 9000), ("older", 9999), ("new", 10), ("own", 99999)):
        path = tmp_path / "tables" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
        os.utime(path, (now - age, now))
        if name != "own":
            with path.open("rb") as file:
                notes.add({f"tables/{name}.parquet": Note.of(f"tables/{name}.parquet", file)})

    def left(limit: float) -> list[str]:
        evict(tmp_path, ["tables"], limit, notes)
        return sorted(path.stem for path in tmp_path.rglob("*.parquet"))

    assert left(300) == ["new", "old", "older", "own"]
    assert left(200) == ["new", "old", "own"]
    assert left(0) == ["new", "own"]


def test_files_that_another_process_removes_meanwhile_are_no_error(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("first", "second", "third")]
    for path in paths:
        path.write_bytes(bytes(100))
        os.utime(path, (0, 0))

    def listed() -> Iterator[Path]:
        paths[0].unlink()
        yield from paths
        paths[1].unlink()

    assert remove_oldest(listed(), 0) == (paths[1:], 0)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The limits with which all files of a cache were looked at."""
    found: list[float] = []

    def counted(root: Path, folders: Iterable[str], limit: float, notes: Notes) -> int:
        found.append(limit)
        return evict(root, folders, limit, notes)

    monkeypatch.setattr(mirror, "evict", counted)
    return found


FILES, BYTES = 100, 100


def fetched(machine: Machine, limit: float, seconds: float) -> Iterator[int]:
    """Fetch files one after the other, which were used so many seconds ago, and yield the size of the cache."""
    one, other = machine("one"), replace(machine("other"), cached_bytes=limit)
    names = [f"tables/chunks/notes/{number}.parquet" for number in range(FILES)]
    with one.files.session():
        for name in names:
            write(one, name, "x" * BYTES)
    for path in (other.root / name for name in names):
        other.files.open([path])
        os.utime(path, (time.time() - seconds,) * 2)
        yield sum(one.stat().st_size for one in other.root.rglob("*.parquet"))


def test_a_cache_with_room_is_looked_at_once(machine: Machine, looks: list[float]) -> None:
    assert max(fetched(machine, 10 * FILES * BYTES, 10)) == FILES * BYTES
    assert len(looks) == 1


@pytest.mark.long
def test_a_full_cache_stays_within_its_limit_and_is_looked_at_in_steps(machine: Machine, looks: list[float]) -> None:
    limit = FILES * BYTES / 2
    sizes = list(fetched(machine, limit, 9999))
    assert max(sizes) <= limit
    assert min(sizes[FILES // 2 :]) >= 0.9 * limit
    assert len(looks) <= 1 + FILES * BYTES / (0.05 * limit)


@pytest.mark.long
def test_a_cache_of_files_in_use_is_looked_at_in_steps_too(machine: Machine, looks: list[float]) -> None:
    limit = FILES * BYTES / 4
    assert max(fetched(machine, limit, 10)) == FILES * BYTES
    assert len(looks) <= 1 + FILES * BYTES / (0.05 * limit)


def test_a_process_keeps_its_folder(tmp_path: Path) -> None:
    folder = claim_folder(tmp_path, "s3://bucket/one")
    assert folder.name == "0"
    assert claim_folder(tmp_path, "s3://bucket/one") == folder
    assert claim_folder(tmp_path, "s3://bucket/two").parent != folder.parent
