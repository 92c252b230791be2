"""The notes on what a bucket holds: neither a mode nor a copy changes them."""

import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.storage.files import notes
from lightrag_dagster.storage.files.notes import NOTES, Note, Notes
from lightrag_dagster.storage.home import Home
from tests.buckets import S3Server
from tests.storage.files.machines import write

FILES = {
    "tables/chunks/notes/1.parquet": "rows",
    "tables/chunks/notes/current.json": "1",
    "generations/gen-1/generation.json": "made",
    "generations/gen-1/graph.kuzu": "graph",
    "PUBLISHED": "gen-1",
}


@pytest.fixture
def home(buckets: S3Server, tmp_path: Path) -> Home:
    """A home whose cache has every kind of file, all of them uploaded."""
    home = Home(tmp_path / "cache" / "0", SecretStr("postgresql://nowhere"), buckets.new_bucket(), 1e9)
    with home.files.session():
        for name, text in FILES.items():
            write(home, name, text)
    buckets.requests.clear()
    return home


def use(home: Home) -> None:
    """Do what a writer and a reader begin with."""
    with home.files.session():
        home.files.open_folder(home.generation("gen-1"))
        home.files.open([home.root / "tables/chunks/notes/1.parquet"])


def contents(home: Home) -> dict[str, str]:
    """Return name → text of the files of a cache, without notes."""
    found = (path for path in home.root.rglob("*") if path.is_file() and path.name[0] != ".")
    return {path.relative_to(home.root).as_posix(): path.read_text() for path in found}


def make_read_only(home: Home) -> Home:
    for path in home.root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o444)
    return home


def copy_content(home: Home) -> Home:
    """Return a copy, as from a backup that keeps neither modes nor times."""
    copy = replace(home, root=home.root.parents[1] / "restored" / "0")
    shutil.copytree(home.root, copy.root, copy_function=shutil.copyfile)
    return copy


def copy_all(home: Home) -> Home:
    copy = replace(home, root=home.root.parents[1] / "copied" / "0")
    shutil.copytree(home.root, copy.root)
    return copy


@pytest.mark.parametrize("change", [make_read_only, copy_content, copy_all])
def test_nothing_moves_again(home: Home, buckets: S3Server, change: Callable[[Home], Home]) -> None:
    changed = change(home)
    use(changed)
    assert contents(changed) == FILES
    assert buckets.requests == {"GET": 2}, "the records are listed, and the generation"


@pytest.mark.parametrize("change", [make_read_only, copy_content, copy_all])
def test_what_is_written_then_is_uploaded(home: Home, change: Callable[[Home], Home], tmp_path: Path) -> None:
    changed = change(home)
    with changed.files.session():
        write(changed, "tables/chunks/notes/current.json", "2")
        write(changed, "generations/gen-1/graph.kuzu", "other")
        (changed.root / "PUBLISHED").unlink()
    reader = replace(home, root=tmp_path / "reader" / "0")
    reader.files.refresh()
    use(reader)
    expected = FILES | {"tables/chunks/notes/current.json": "2", "generations/gen-1/graph.kuzu": "other"}
    assert contents(reader) == {name: text for name, text in expected.items() if name != "PUBLISHED"}


def noted(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("before")
    with path.open("rb") as file:
        Notes(folder).add({name: Note.of(name, file)})
    return path


@pytest.mark.parametrize("name", ["generations/gen-1/graph.kuzu", "accepted/notes.json"])
def test_a_file_that_was_written_again_is_another_one(tmp_path: Path, name: str) -> None:
    path = noted(tmp_path, name)
    assert Notes(tmp_path).held([name]).keys() == {name}
    facts = path.stat()
    other = path.with_name("other")
    other.write_text("after!")
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.replace(path)
    assert path.stat().st_size == facts.st_size
    assert Notes(tmp_path).held([name]) == {}


def test_the_bytes_in_the_bucket_are_noted_where_they_are_others(tmp_path: Path) -> None:
    name = "generations/gen-1/graph.kuzu"
    path = noted(tmp_path / "one", name)
    with path.open("rb") as file:
        Notes(tmp_path / "one").add({name: Note.of(name, file, stored=3)})
    assert Notes(tmp_path / "one").held([name]) == {name: 3}


def test_a_copy_is_compared_once(tmp_path: Path) -> None:
    name = "generations/gen-1/graph.kuzu"
    noted(tmp_path / "one", name)
    shutil.copytree(tmp_path / "one", tmp_path / "other", copy_function=shutil.copyfile)
    notes, path = Notes(tmp_path / "other"), tmp_path / "other" / name
    assert notes.held([name]).keys() == {name}
    facts = path.stat()
    path.write_text("after!")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert notes.held([name]).keys() == {name}, "the very file that was compared is not read again"


def test_what_one_process_notes_another_one_sees(tmp_path: Path) -> None:
    one, other = Notes(tmp_path), Notes(tmp_path)
    assert other.held(["tables/1.parquet"]) == {}
    noted(tmp_path, "tables/1.parquet")
    assert one.held(["tables/1.parquet"]) == other.held(["tables/1.parquet"]) == {"tables/1.parquet": len("before")}
    other.forget(["tables/1.parquet"])
    assert one.held(["tables/1.parquet"]) == {}


def test_threads_read_notes_while_others_follow_them(tmp_path: Path) -> None:
    ours, others = Notes(tmp_path), Notes(tmp_path)
    names = [f"tables/{number}.parquet" for number in range(3000)]
    others.add({name: Note(1, None, None, None) for name in names})
    ours.records()

    def forget() -> None:
        for at in range(0, len(names), 30):
            others.forget(names[at : at + 30])
            ours.records()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as threads:
            forgetting = threads.submit(forget)
            while not forgetting.done():
                ours.forget_below("generations")
                assert (ours.held(names), ours.tags(names)) == ({}, {})
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("left", [b"", b"[", b"no notes at all\n"])
def test_lost_and_damaged_notes_cost_no_more_than_time(home: Home, buckets: S3Server, left: bytes) -> None:
    (home.root / NOTES).write_bytes(left)
    before = buckets.keys(str(home.bucket))
    use(home)
    assert contents(home) == FILES
    assert buckets.keys(str(home.bucket)) == before
    buckets.requests.clear()
    use(home)
    assert buckets.requests == {"GET": 2}


def test_a_line_that_a_killed_process_wrote_in_part_is_left_out(tmp_path: Path) -> None:
    one, other = "tables/1.parquet", "tables/2.parquet"
    noted(tmp_path, one)
    with (tmp_path / NOTES).open("ab") as file:
        file.write(b'["tables/2')
    assert Notes(tmp_path).held([one]).keys() == {one}
    noted(tmp_path, other)
    assert Notes(tmp_path).held([one, other]).keys() == {one, other}


def test_a_large_file_of_notes_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted(tmp_path, "tables/1.parquet")
    noted(tmp_path, "tables/2.parquet").unlink()
    (size, large) = (tmp_path / NOTES).stat().st_size, notes._LARGE
    seeing = Notes(tmp_path)
    assert seeing.held(["tables/1.parquet"]).keys() == {"tables/1.parquet"}
    for limit in (large, 10):
        monkeypatch.setattr(notes, "_LARGE", limit)
        Notes(tmp_path).tidy()
        assert ((tmp_path / NOTES).stat().st_size < size) == (limit == 10)
        assert [path.name for path in tmp_path.glob(".*")] == [NOTES]
        assert seeing.held(["tables/1.parquet", "tables/2.parquet"]).keys() == {"tables/1.parquet"}
    noted(tmp_path, "tables/3.parquet")
    assert seeing.held(["tables/3.parquet"]).keys() == {"tables/3.parquet"}
