"""Copying files between homes and backups, in folders and in buckets."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.backup_files import Contents, Folder, local
from lightrag_dagster.storage.files.session import is_record
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import Format
from tests.buckets import S3Server
from tests.storage.files.machines import write

GRAPH = "generations/gen-1/graph.kuzu"
RECORDS = {
    "PUBLISHED": b"pointer",
    "pins.json": b"names",
    "accepted/a%20b%2Fc.json": b"accepted",
    "accepted/exports.json": b"accepted too",
    "accepted/views.json": b"accepted as well",
    "tables/chunks/a%20b%2Fc/current.json": b"current",
    "generations/gen-1/manifest.json": b"manifest",
}
DATA = {
    "tables/chunks/a%20b%2Fc/1.parquet": b"rows",
    GRAPH: b"graph" * 1000,
    "generations/gen-1/adjacency/ids.npy": b"",
    "lance/chunks.lance/_refs/tags/gen-1.json": b"tag",
    "lance/chunks.lance/_versions/1.manifest": b"version",
    "batches/1.jsonl": b"requests",
}
LEFT_OUT = (
    "generations/gen-1/views.duckdb",
    "tables/chunks/a%20b%2Fc/.1.parquet.tmp",
    "builder.lock",
    "responses.sqlite",
    "dagster/dagster.yaml",
)

Open = Callable[[], Contents]


@pytest.fixture
def home(tmp_path: Path) -> Contents:
    for name, content in (RECORDS | DATA | dict.fromkeys(LEFT_OUT, b"left out")).items():
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Contents.of_home(Home(tmp_path / "home"))


@pytest.fixture(params=["folder", "bucket"])
def backup(request: pytest.FixtureRequest, tmp_path: Path) -> Contents:
    """An empty place for a backup."""
    if request.param == "folder":
        return Contents.of_backup(str(tmp_path / "backup"))
    server: S3Server = request.getfixturevalue("buckets")
    return Contents.of_backup(server.new_bucket())


def copy(source: Contents, target: Contents) -> None:
    target.store_data(source)
    target.store_records(source.records())


def contents(files: Contents) -> dict[str, bytes]:
    found = files.records()
    for name in files.names().keys() - found.keys():
        place = files.machine if name.startswith("batches/") else files.place
        with local(place, name) as path:
            found[name] = path.read_bytes()
    return found


def test_a_home_comes_back_from_a_backup_of_any_kind(home: Contents, backup: Contents, tmp_path: Path) -> None:
    copy(home, backup)
    assert contents(backup) == RECORDS | DATA
    assert backup.place.list("records").keys() == {f"records/{name}" for name in RECORDS}
    copy(backup, Contents.of_home(Home(tmp_path / "other")))
    found = {path.relative_to(tmp_path / "other") for path in (tmp_path / "other").rglob("*") if path.is_file()}
    assert {path.as_posix() for path in found} == RECORDS.keys() | DATA.keys()


def test_a_home_in_a_bucket_has_the_files_of_batches_on_the_machine(
    home: Contents, buckets: S3Server, tmp_path: Path
) -> None:
    uri = buckets.new_bucket()
    target = Contents.of_home(Home(tmp_path / "cache" / "0", SecretStr("postgresql://nowhere"), uri))
    copy(home, target)
    packs = {GRAPH, "generations/gen-1/adjacency/ids.npy"}
    assert contents(target).keys() == RECORDS.keys() | DATA.keys() - packs | {f"{name}.zst" for name in packs}
    back = Contents.of_home(Home(tmp_path / "back"))
    copy(target, back)
    assert contents(back) == RECORDS | DATA
    assert (tmp_path / "cache" / "batches" / "1.jsonl").read_bytes() == b"requests"
    assert not [key for key in buckets.keys(uri) if key.startswith("batches")]


def test_a_graph_that_is_packed_in_a_bucket_is_whole_on_a_disk(
    home: Contents, backup: Contents, buckets: S3Server, tmp_path: Path
) -> None:
    there = Home(tmp_path / "cache" / "0", SecretStr("postgresql://nowhere"), buckets.new_bucket(), 1e9)
    copy(home, Contents.of_home(there))
    there.files.remove([there.root / GRAPH])
    there.files.keep([write(there, GRAPH, "another graph" * 1000)])
    copy(Contents.of_home(there), backup)
    assert backup.place.list(GRAPH.rpartition("/")[0]).keys() >= {f"{GRAPH}.zst"}
    for _ in range(2):  # the second finds its own files
        copy(backup, home)
        assert contents(home) == RECORDS | DATA | {GRAPH: b"another graph" * 1000}


def test_a_second_copy_leaves_nothing_of_the_first(home: Contents, backup: Contents, tmp_path: Path) -> None:
    copy(home, backup)
    for name in (GRAPH, "generations/gen-1/manifest.json", "PUBLISHED"):
        (tmp_path / "home" / name).unlink()
    copy(home, backup)
    assert contents(backup) == contents(home)


def test_the_format_is_beside_the_records(home: Contents, backup: Contents, tmp_path: Path) -> None:
    for files in (home, backup):
        assert files.format() is None
        files.set_format(Format(format=1, copying="elsewhere"))
        assert files.format() == Format(format=1, copying="elsewhere")
        assert "FORMAT" not in files.names()
    assert (tmp_path / "home" / "FORMAT").exists()
    assert list(backup.place.list("records")) == ["records/FORMAT"]


def test_what_is_missing_is_named(backup: Contents) -> None:
    with pytest.raises(StoreError, match="database/ledger is missing"), local(backup.place, "database/ledger"):
        pytest.fail("there is none")


def test_an_empty_folder_has_nothing(tmp_path: Path) -> None:
    assert Folder(tmp_path / "never made").list("tables") == {}
    assert Contents.of_backup(str(tmp_path / "never made")).names() == {}


@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str) -> None:
    assert is_record(name)


@pytest.mark.parametrize("name", DATA)
def test_data(name: str) -> None:
    assert not is_record(name)


def test_a_file_that_cannot_be_read_is_not_one_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").mkdir()
    with pytest.raises(StoreError, match=r"/rows\.parquet cannot be read: Is a directory; let this user read it"):
        Folder(tmp_path / "backup").upload("tables/rows.parquet", tmp_path / "rows.parquet", create=False)


def test_what_others_remove_while_a_folder_is_listed_is_left_out(tmp_path: Path) -> None:
    merging, done = tmp_path / "tables" / ".new.1", threading.Event()
    (tmp_path / "tables" / "kept").mkdir(parents=True)
    (tmp_path / "tables" / "kept" / "1.parquet").write_bytes(b"rows")

    def merge() -> None:
        while not done.is_set():
            for place in (merging, tmp_path / "tables" / "gone"):
                for number in range(20):
                    (place / str(number)).mkdir(parents=True)
                shutil.rmtree(place)

    thread = threading.Thread(target=merge)
    thread.start()
    try:
        found = [Folder(tmp_path).list("tables").keys() for _ in range(100)]
    finally:
        done.set()
        thread.join()
    assert found == [{"tables/kept/1.parquet"}] * 100
