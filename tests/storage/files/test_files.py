"""The door to the files of a home, on a disk, and in a bucket whose reader has an empty cache."""

import errno
import os
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import SecretStr

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from tests.buckets import S3Server

ROWS = pa.table({"id": [1, 2, 3], "text": ["one", "two", "three"]})
TABLE = "tables/chunks/notes/1.parquet"
LIST = "tables/chunks/notes/2.shards"
STATE = "generations/gen-1/corpus_state.npy"
ENTITIES = "generations/gen-1/entities.parquet"
GRAPH = "generations/gen-1/graph.kuzu"
RECORD = "generations/gen-1/generation.json"

Reader = Callable[[], Home]


@pytest.fixture(params=["disk", "bucket"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """An empty home, as its writer has it."""
    if request.param == "disk":
        return Home(tmp_path / "home")
    server: S3Server = request.getfixturevalue("buckets")
    return Home(tmp_path / "writer" / "0", SecretStr("postgresql://nowhere"), server.new_bucket(), 1e9)


@pytest.fixture
def reader(home: Home, tmp_path: Path) -> Reader:
    """Return the home as a reader has it, on a machine of its own unless the home is on a disk."""
    numbers = iter(range(100))

    def read() -> Home:
        if home.bucket is None:
            return home
        return Home(tmp_path / f"reader {next(numbers)}" / "0", home.database, home.bucket, home.cached_bytes)

    return read


def text_of(home: Home, name: str) -> str | None:
    """Return the text of a file that was opened, or None where it is missing."""
    [path] = home.files.open([home.root / name])
    return path.read_text() if path.exists() else None


def write(home: Home, name: str, text: str) -> Path:
    with home.files.writing(home.root / name) as temporary:
        temporary.write_text(text)
    return home.root / name


def test_rows_are_read_whole_or_in_part(home: Home, reader: Reader) -> None:
    home.files.write(home.root / TABLE, ROWS)
    there = reader()
    path = there.root / TABLE
    assert there.files.count_rows([path, path]) == 6
    assert there.files.read(path) == ROWS
    assert there.files.read(path, ["text"]) == ROWS.select(["text"])
    with pytest.raises(StoreError, match="is damaged"):
        there.files.read(path, ["id", "language"])


def test_to_read_fetches(home: Home, reader: Reader) -> None:
    home.files.write(home.root / TABLE, ROWS)
    there = reader()
    assert there.files.read(there.root / TABLE) == ROWS
    missing = there.root / "tables/chunks/notes/3.parquet"
    with pytest.raises(StoreError, match=r"3\.parquet is missing; run `lightrag-dagster run`"):
        there.files.read(missing)
    assert not missing.exists()


def test_many_are_opened_at_once_and_one_that_is_nowhere_is_missing(home: Home, reader: Reader) -> None:
    for name in (TABLE, LIST):
        write(home, name, name)
    there = reader()
    wanted = [there.root / name for name in (LIST, "tables/chunks/notes/3.parquet", TABLE)]
    found = there.files.open(iter(wanted))
    assert found == wanted
    assert [path.read_text() if path.exists() else None for path in found] == [LIST, None, TABLE]


def test_a_copy_of_another_size_is_fetched_again(home: Home, reader: Reader) -> None:
    home.files.keep([write(home, GRAPH, "graph")])
    there = reader()
    path = there.root / GRAPH
    assert text_of(there, GRAPH) == "graph"
    home.files.remove([home.root / GRAPH])
    home.files.keep([write(home, GRAPH, "a larger graph")])
    assert there.files.open([path], {path: 14})[0].read_text() == "a larger graph"
    there.files.open([path], {path: 13})
    assert path.read_text() == "a larger graph"


def test_a_folder_is_opened_with_what_is_below_it_and_nothing_beside(home: Home, reader: Reader) -> None:
    names = ("gen-1/entities.parquet", "gen-1/adjacency/ends.npy", "gen-2/entities.parquet")
    with home.files.session():
        for name in names:
            write(home, f"generations/{name}", name)
    there = reader()
    folder = there.files.open_folder(there.generation("gen-1"))
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == {"entities.parquet": names[0], "adjacency/ends.npy": names[1]}


def test_a_folder_whose_array_was_repaired_has_that_of_today(home: Home, reader: Reader) -> None:
    there = reader()
    for text in ("ends" * 100, "dens" * 99 + "send"):  # of one size, and of others where they are compressed
        with home.files.session():
            write(home, STATE, text)
        folder = there.files.open_folder(there.generation("gen-1"))
        assert (folder / "corpus_state.npy").read_text() == text


def test_a_session_lists_a_folder_once_and_knows_what_it_wrote(home: Home, reader: Reader) -> None:
    folder, there = home.root / "generations/gen-1", reader()
    with home.files.session():
        home.files.open_folder(folder)
        home.files.keep([write(home, STATE, "state")])
        (home.root / STATE).unlink()
        home.files.open_folder(folder)
        assert home.bucket is None or (home.root / STATE).read_text() == "state"
    there.files.keep([write(there, f"{STATE}.2", "of another builder")])
    with home.files.session():
        home.files.open_folder(folder)
        assert (home.root / f"{STATE}.2").read_text() == "of another builder"


def test_a_folder_is_listed_with_sizes(home: Home, reader: Reader) -> None:
    with home.files.session():
        write(home, TABLE, "12345")
        write(home, ENTITIES, "123")
    there = reader()
    root = there.root
    assert {path: one.size for path, one in there.files.list_folder(root / "tables").items()} == {root / TABLE: 5}
    assert {path: one.size for path, one in there.files.list_folder(root / "generations").items()} == {
        root / ENTITIES: 3
    }
    assert there.files.list_folder(root / "lance") == {}
    assert there.files.read_bytes(root / TABLE) == b"12345"
    assert there.files.hash(root / TABLE) == sha256(b"12345").hexdigest()


def test_what_is_written_is_whole_or_not_there(home: Home, reader: Reader) -> None:
    def fail() -> None:
        with home.files.writing(home.root / LIST) as temporary:
            temporary.write_text("half")
            raise ValueError("no such rows")

    with pytest.raises(ValueError, match="no such rows"):
        fail()
    assert text_of(reader(), LIST) is None
    assert [path for path in home.root.rglob("*") if path.is_file() and path.suffix == ".shards"] == []
    write(home, LIST, "whole")
    assert text_of(reader(), LIST) == "whole"


def test_files_of_a_table_are_found_at_once_and_others_when_the_session_ends(home: Home, reader: Reader) -> None:
    in_bucket = home.bucket is not None
    with home.files.session():
        write(home, LIST, "list")
        write(home, STATE, "state")
        assert text_of(reader(), LIST) == "list"
        assert text_of(reader(), STATE) == (None if in_bucket else "state")
    assert text_of(reader(), STATE) == "state"


def test_what_others_wrote_is_kept_at_once(home: Home, reader: Reader) -> None:
    arrays, graph = home.generation("gen-1") / "adjacency", home.root / GRAPH
    arrays.mkdir(parents=True)
    (arrays / "ends.npy").write_text("ends")
    graph.write_text("graph")
    home.files.keep([arrays, graph, home.lance / "chunks.lance"] if home.bucket else [arrays, graph])
    assert text_of(reader(), "generations/gen-1/adjacency/ends.npy") == "ends"
    assert text_of(reader(), GRAPH) == "graph"


def test_a_table_that_a_bucket_has_lost_is_there_again(home: Home, reader: Reader) -> None:
    path = home.root / TABLE
    home.files.write(path, ROWS)
    other = reader()
    other.files.remove([other.root / TABLE])
    home.files.write(path, ROWS)
    there = reader()
    assert there.files.read(there.root / TABLE) == ROWS


def test_what_a_bucket_lost_of_a_folder_is_there_again(home: Home, reader: Reader) -> None:
    def build() -> None:
        with home.files.session():
            home.files.remove_folder(home.generation("gen-1"))
            write(home, ENTITIES, "rows")
            write(home, STATE, "state")

    build()
    if home.bucket:
        Objects.open(home.bucket).delete([ENTITIES, f"{STATE}.zst"])
    build()
    assert [text_of(reader(), name) for name in (ENTITIES, STATE)] == ["rows", "state"]


def test_a_generation_that_another_machine_removed_is_there_again(home: Home, reader: Reader) -> None:
    def build() -> None:
        with home.files.session():
            home_format.begin(home.for_worker())
            write(home, ENTITIES, "rows")
            atomic.write_text(home.root / RECORD, "{}")

    build()
    other = reader()
    refresh(other)
    with other.files.session():
        other.files.remove_folder(other.generation("gen-1"))
    refresh(home)
    assert not home.generation("gen-1").exists()
    build()
    there = reader()
    refresh(there)
    assert text_of(there, ENTITIES) == "rows"
    assert (there.root / RECORD).exists()


def test_files_and_folders_are_removed_everywhere(home: Home, reader: Reader) -> None:
    with home.files.session():
        for name in (TABLE, LIST, STATE, GRAPH):
            write(home, name, name)
        atomic.write_text(home.root / RECORD, "{}")
    home.files.remove([home.root / TABLE])
    with home.files.session():
        home.files.remove_folder(home.generation("gen-1"))
        home.files.remove_folder(home.scratch)  # that there is none is no error
    there = reader()
    refresh(there)
    assert [text_of(there, name) for name in (TABLE, LIST, STATE, GRAPH)] == [None, LIST, None, None]
    assert not (there.root / RECORD).exists()


def test_records_are_those_of_the_last_writer(home: Home, reader: Reader) -> None:
    there = reader()
    one, other = (there.root / name for name in ("accepted/notes.json", "accepted/office.json"))
    for text in ("1", "2"):
        with home.files.session():
            home_format.begin(home.for_worker())
            for path in (one, other):
                atomic.write_text(home.root / path.relative_to(there.root), text)
        if text == "1":
            refresh(there)
    there.files.refresh([one])
    assert one.read_text() == "2"
    assert other.read_text() == ("1" if there.bucket else "2")
    refresh(there)
    assert other.read_text() == "2"


def test_all_records_are_taken_over_only_of_a_home_that_can_be_read(
    home: Home, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    with home.files.session():
        home_format.begin(home.for_worker())
    monkeypatch.setattr(home_format, "FORMAT", home_format.FORMAT + 1)
    with pytest.raises(StoreError, match="`lightrag-dagster run` takes it over"):
        refresh(reader())


def test_it_is_the_same_in_another_process(home: Home) -> None:
    assert pickle.loads(pickle.dumps(home)).files == home.files


def test_rows_are_counted(home: Home, reader: Reader) -> None:
    home.files.write(home.root / TABLE, ROWS)
    there = reader()
    assert there.files.count_rows([there.root / TABLE]) == 3
    assert home.files.count_rows([home.root / TABLE]) == 3
    with pytest.raises(StoreError, match=r"2\.parquet is missing"):
        there.files.count_rows([there.root / "tables/chunks/notes/2.parquet"])


def test_the_caches_of_processes_that_have_ended_are_emptied(home: Home) -> None:
    write(home, LIST, "list")
    ended = home.root.parent / "7" if home.bucket else home.root / "7"
    ended.mkdir()
    home.files.empty_other_caches()
    assert ended.exists() == (home.bucket is None)
    assert text_of(home, LIST) == "list"


def test_what_cannot_be_removed_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home.root / "tables" / "chunks" / "notes"
    write(home, TABLE, "rows")
    home.files.remove_folder(home.root / "nowhere")

    def busy(*_: object, **__: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    removals: tuple[Callable[[], None], ...] = (
        lambda: home.files.remove_folder(folder),
        lambda: home.files.remove([home.root / TABLE]),
    )
    for remove, refuses in zip(removals, ("rmdir", "unlink"), strict=True):
        write(home, TABLE, "rows")
        with monkeypatch.context() as patched:
            patched.setattr(os, refuses, busy)
            with pytest.raises(StoreError, match=r"cannot write .*notes.*busy; what is left of it stays"):
                remove()
    home.files.remove_folder(folder)
    assert not folder.exists()
