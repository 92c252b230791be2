"""The door to the files of a home, on a disk, and in a bucket whose reader has an empty cache."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import OlderFormatError, StoreError
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic, mirror
from lightrag_dagster.storage.files.files import Files
from lightrag_dagster.storage.files.session import writing
from lightrag_dagster.storage.home import Home
from tests.buckets import S3Server

ROWS = pa.table({"id": [1, 2, 3], "text": ["one", "two", "three"]})
TABLE = "tables/chunks/notes/1.parquet"
LIST = "tables/chunks/notes/2.shards"
STATE = "generations/gen-1/corpus_state.npy"
GRAPH = "generations/gen-1/graph.kuzu"
RECORD = "generations/gen-1/generation.json"

Reader = Callable[[], Files]


@pytest.fixture(params=["disk", "bucket"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """The files of an empty home, as its writer has them."""
    if request.param == "disk":
        return Files(Home(tmp_path / "home"))
    server: S3Server = request.getfixturevalue("buckets")
    return Files(Home(tmp_path / "writer" / "0", SecretStr("postgresql://nowhere"), server.new_bucket(), 1e9))


@pytest.fixture
def reader(files: Files, tmp_path: Path) -> Reader:
    """Return the files of the home for a reader, on a machine of its own unless the home is on a disk."""
    numbers = iter(range(100))

    def read() -> Files:
        home = files.home
        if home.bucket is None:
            return files
        return Files(Home(tmp_path / f"reader {next(numbers)}" / "0", home.database, home.bucket, home.cached_bytes))

    return read


def text_of(files: Files, name: str) -> str | None:
    """Return the text of a file that was opened, or None where it is missing."""
    [path] = files.open([files.home.root / name])
    return path.read_text() if path.exists() else None


def write(files: Files, name: str, text: str) -> Path:
    with files.writing(files.home.root / name) as temporary:
        temporary.write_text(text)
    return files.home.root / name


def test_rows_are_read_whole_or_in_part(files: Files, reader: Reader) -> None:
    files.write(files.home.root / TABLE, ROWS)
    there = reader()
    path = there.home.root / TABLE
    assert there.count_rows([path, path]) == 6
    assert there.read_first(path, 2) == ROWS.slice(0, 2)
    assert there.read(path) == ROWS
    assert there.read(path, ["text"]) == ROWS.select(["text"])
    newer = pa.schema([*ROWS.schema, pa.field("language", pa.string())])
    assert there.read(path, ["id", "language"], newer).to_pydict() == {"id": [1, 2, 3], "language": [None] * 3}


@pytest.mark.parametrize("read", [lambda files, path: files.read(path), lambda files, path: files.read_first(path, 1)])
def test_each_way_to_read_fetches(files: Files, reader: Reader, read: Callable[[Files, Path], pa.Table]) -> None:
    files.write(files.home.root / TABLE, ROWS)
    there = reader()
    assert read(there, there.home.root / TABLE).slice(0, 1) == ROWS.slice(0, 1)
    missing = there.home.root / "tables/chunks/notes/3.parquet"
    with pytest.raises(StoreError, match=r"3\.parquet is missing; run `lightrag-dagster run`"):
        read(there, missing)
    assert not missing.exists()


def test_many_are_opened_at_once_and_one_that_is_nowhere_is_missing(files: Files, reader: Reader) -> None:
    for name in (TABLE, LIST):
        write(files, name, name)
    there = reader()
    wanted = [there.home.root / name for name in (LIST, "tables/chunks/notes/3.parquet", TABLE)]
    found = there.open(iter(wanted))
    assert found == wanted
    assert [path.read_text() if path.exists() else None for path in found] == [LIST, None, TABLE]


def test_a_folder_is_opened_with_what_is_below_it_and_nothing_beside(files: Files, reader: Reader) -> None:
    names = ("gen-1/entities.parquet", "gen-1/adjacency/ends.npy", "gen-2/entities.parquet")
    with writing(files.home):
        for name in names:
            write(files, f"generations/{name}", name)
    there = reader()
    folder = there.open_folder(there.home.generation("gen-1"))
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == {"entities.parquet": names[0], "adjacency/ends.npy": names[1]}


def test_a_folder_is_listed_with_sizes(files: Files, reader: Reader) -> None:
    with writing(files.home):
        write(files, TABLE, "12345")
        write(files, STATE, "123")
    there = reader()
    root = there.home.root
    assert {path: one.size for path, one in there.list_folder(root / "tables").items()} == {root / TABLE: 5}
    assert {path: one.size for path, one in there.list_folder(root / "generations").items()} == {root / STATE: 3}
    assert there.list_folder(root / "lance") == {}
    assert there.read_bytes(root / TABLE) == b"12345"


def test_what_is_written_is_whole_or_not_there(files: Files, reader: Reader) -> None:
    def fail() -> None:
        with files.writing(files.home.root / LIST) as temporary:
            temporary.write_text("half")
            raise ValueError("no such rows")

    with pytest.raises(ValueError, match="no such rows"):
        fail()
    assert text_of(reader(), LIST) is None
    assert [path for path in files.home.root.rglob("*") if path.is_file() and path.suffix == ".shards"] == []
    write(files, LIST, "whole")
    assert text_of(reader(), LIST) == "whole"


def test_files_of_a_table_are_found_at_once_and_others_when_the_session_ends(files: Files, reader: Reader) -> None:
    in_bucket = files.home.bucket is not None
    with writing(files.home):
        write(files, LIST, "list")
        write(files, STATE, "state")
        assert text_of(reader(), LIST) == "list"
        assert text_of(reader(), STATE) == (None if in_bucket else "state")
    assert text_of(reader(), STATE) == "state"


def test_what_others_wrote_is_kept_at_once(files: Files, reader: Reader) -> None:
    arrays, graph = files.home.generation("gen-1") / "adjacency", files.home.root / GRAPH
    arrays.mkdir(parents=True)
    (arrays / "ends.npy").write_text("ends")
    graph.write_text("graph")
    files.keep([arrays, graph, files.home.lance / "chunks.lance"] if files.home.bucket else [arrays, graph])
    assert text_of(reader(), "generations/gen-1/adjacency/ends.npy") == "ends"
    assert text_of(reader(), GRAPH) == "graph"


def test_a_table_that_a_bucket_has_lost_is_there_again(files: Files, reader: Reader) -> None:
    path = files.home.root / TABLE
    files.write(path, ROWS)
    other = reader()
    other.remove([other.home.root / TABLE])
    files.write(path, ROWS)
    there = reader()
    assert there.read(there.home.root / TABLE) == ROWS


def test_files_and_folders_are_removed_everywhere(files: Files, reader: Reader) -> None:
    with writing(files.home):
        for name in (TABLE, LIST, STATE, GRAPH):
            write(files, name, name)
        atomic.write_text(files.home.root / RECORD, "{}")
    files.remove([files.home.root / TABLE])
    with writing(files.home):
        files.remove_folder(files.home.generation("gen-1"))
        files.remove_folder(files.home.scratch)  # that there is none is no error
    there = reader()
    there.refresh()
    assert [text_of(there, name) for name in (TABLE, LIST, STATE, GRAPH)] == [None, LIST, None, None]
    assert not (there.home.root / RECORD).exists()


def test_records_are_those_of_the_last_writer(files: Files, reader: Reader) -> None:
    there = reader()
    one, other = (there.home.root / name for name in ("accepted/notes.json", "accepted/office.json"))
    for text in ("1", "2"):
        with writing(files.home):
            for path in (one, other):
                atomic.write_text(files.home.root / path.relative_to(there.home.root), text)
        if text == "1":
            there.refresh()
    there.refresh([one])
    assert one.read_text() == "2"
    assert other.read_text() == ("1" if there.home.bucket else "2")
    there.refresh()
    assert other.read_text() == "2"


def test_all_records_are_taken_over_only_of_a_home_that_can_be_read(
    files: Files, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(files.home):
        home_format.begin(files.home)
    monkeypatch.setitem(home_format.MIGRATIONS, 2, lambda home: None)
    with pytest.raises(OlderFormatError):
        reader().refresh()


def test_it_is_the_same_in_another_process(files: Files) -> None:
    assert pickle.loads(pickle.dumps(files)) == files


@pytest.mark.parametrize("footer", [8, 64 << 10])
def test_rows_are_counted_by_the_end_of_a_file(
    files: Files, reader: Reader, monkeypatch: pytest.MonkeyPatch, footer: int
) -> None:
    monkeypatch.setattr(mirror, "_FOOTER_BYTES", footer)
    files.write(files.home.root / TABLE, ROWS)
    there = reader()
    assert there.count_rows([there.home.root / TABLE]) == 3
    assert files.count_rows([files.home.root / TABLE]) == 3
    assert (there.home.root / TABLE).exists() == (there.home.bucket is None), "nothing was fetched"
    with pytest.raises(StoreError, match=r"2\.parquet is missing"):
        there.count_rows([there.home.root / "tables/chunks/notes/2.parquet"])


def test_the_caches_of_processes_that_have_ended_are_emptied(files: Files) -> None:
    write(files, LIST, "list")
    ended = files.home.root.parent / "7" if files.home.bucket else files.home.root / "7"
    ended.mkdir()
    files.empty_other_caches()
    assert ended.exists() == (files.home.bucket is None)
    assert text_of(files, LIST) == "list"
