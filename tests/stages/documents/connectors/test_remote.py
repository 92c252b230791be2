"""Documents in a bucket of every kind, on an SFTP server and in an archive."""

import io
import json
import os
import pickle
import tarfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import fsspec
import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, SourceSettings, load_settings
from lightrag_dagster.stages.documents.connectors import bucket as bucket_module
from lightrag_dagster.stages.documents.connectors.bucket import Bucket
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.filesystem import FileSystem
from lightrag_dagster.stages.documents.connectors.origin import Origin
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source, find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.buckets import BucketService, S3Server
from tests.sftp import PASSWORD, USER, serving_sftp
from tests.support import FLOOD, OFFICE, RIVER


def found(origin: Origin) -> dict[str, bytes]:
    """Return path → content of all documents that are not refused."""
    return {one.path: origin.read(one, 1_000_000) for one in list_files(Source("s", origin)) if one.refused is None}


def with_documents(server: BucketService) -> str:
    """Return a prefix in a new bucket, with documents."""
    uri = server.new_bucket()
    store = server.store(uri)
    for key, text in {"river.md": RIVER, "a b/flood.txt": FLOOD, ".hidden/x.md": "x", "x.bin": "x"}.items():
        obstore.put(store, key, text.encode())
    return uri


OTHERS = ["google", pytest.param("seaweed", marks=pytest.mark.long)]


@pytest.fixture(params=["buckets", *OTHERS])
def server(request: pytest.FixtureRequest) -> BucketService:
    """Each server of buckets: S3, Google's interface, and SeaweedFS."""
    found: BucketService = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def bucket(buckets: S3Server) -> str:
    """A prefix in a bucket, with documents."""
    return with_documents(buckets)


def test_a_bucket_is_a_source(server: BucketService) -> None:
    bucket = with_documents(server)
    listed = {one.path: one for one in list_files(Source("s", Bucket(bucket)))}
    assert sorted(listed) == ["a b/flood.txt", "river.md", "x.bin"]
    assert str(listed["x.bin"].refused).startswith("unsupported file type (.bin)")
    assert (listed["river.md"].size, listed["river.md"].stamp_is_stable) == (len(RIVER), True)
    assert found(Bucket(bucket)) == {"river.md": RIVER.encode(), "a b/flood.txt": FLOOD.encode()}
    assert list(found(Bucket(bucket, Patterns(("*.md",))))) == ["river.md"]
    assert list(found(Bucket(bucket, file="river.md"))) == ["river.md"]
    assert list(found(Bucket(f"{bucket}/a b"))) == ["flood.txt"]
    assert Bucket(bucket).read(listed["river.md"], 5) == RIVER.encode()[:5]
    assert pickle.loads(pickle.dumps(Bucket(bucket))) == Bucket(bucket)


@pytest.mark.parametrize("server", OTHERS, indirect=True)
def test_changes_in_a_bucket_are_found(server: BucketService, tmp_path: Path) -> None:
    bucket = with_documents(server)
    store = server.store(bucket)
    settings = load_settings(
        home=tmp_path / "home", named_sources={"docs": {"uri": bucket}}, documents={"accept_deletes": True}
    )
    source, tables = find_source(_named_only(settings, tmp_path), "docs"), SourceTables(Home(settings.home))
    recipes = Recipes.of(settings)
    assert read_source(source, tables, recipes).version.counts["status"] == {"processed": 2, "skipped": 1}
    assert "chunks, never made" in str(why_ingest(source, tables, recipes))
    obstore.put(store, "river.md", OFFICE.encode())
    obstore.delete(store, "a b/flood.txt")
    assert "input changed" in str(why_ingest(source, tables, recipes))
    read_source(source, tables, recipes)
    rows = {row["path"]: row["content"] for row in tables.read("raw_documents", "docs").to_pylist()}
    assert rows == {"river.md": OFFICE, "x.bin": ""}


@pytest.mark.long
@pytest.mark.parametrize("server", OTHERS, indirect=True)
def test_a_listing_has_more_than_one_page(server: BucketService) -> None:
    uri = server.new_bucket()
    store = server.store(uri)
    names = [f"{number:04}.md" for number in range(1001)]
    for one in names:
        obstore.put(store, one, b"x")
    assert [one.path for one in Bucket(uri).files()] == names


def test_a_number_sign_is_a_part_of_a_uri(buckets: S3Server) -> None:
    uri = buckets.new_bucket()
    for key in ("C/a.md", "C#/b.md"):
        obstore.put(buckets.store(uri), key, key.encode())
    assert found(Bucket(f"{uri}/C#")) == {"b.md": b"C#/b.md"}
    assert found(choose_origin("s", SourceSettings(uri=f"{uri}/C#/b.md"))) == {"b.md": b"C#/b.md"}
    with pytest.raises(SettingsError, match=r"C#/home cannot be used: # and \? end the path of a URI"):
        Objects.open(f"{uri}/C#/home")


def test_a_request_that_fails_once_is_repeated(bucket: str, buckets: S3Server) -> None:
    (river,) = Bucket(bucket, file="river.md").files()
    failures = iter([True])
    buckets.failing = lambda environ: next(failures, False)
    assert Bucket(bucket).read(river, 3) == RIVER.encode()[:3]


def test_a_bucket_that_is_not_there_cannot_be_listed(buckets: S3Server) -> None:
    with pytest.raises(SourceError, match=r"source 's': s3://nothing-there cannot be listed: .*NoSuchBucket"):
        list(list_files(Source("s", Bucket("s3://nothing-there"))))


def test_only_changed_objects_are_fetched(bucket: str, buckets: S3Server, tmp_path: Path) -> None:
    settings = load_settings(
        home=tmp_path / "home", named_sources={"docs": {"uri": bucket}}, documents={"accept_deletes": True}
    )
    tables, recipes, store = SourceTables(Home(settings.home)), Recipes.of(settings), buckets.store(bucket)
    source = find_source(_named_only(settings, tmp_path), "docs")

    def read() -> dict[str, tuple[str, str]]:
        read_source(source, tables, recipes)
        rows = tables.read("raw_documents", "docs", columns=["path", "status", "content"]).to_pylist()
        return {row["path"]: (row["status"], row["content"]) for row in rows}

    assert read() == {"river.md": ("processed", RIVER), "a b/flood.txt": ("processed", FLOOD), "x.bin": ("skipped", "")}
    buckets.requests.clear()
    assert "chunks, never made" in str(why_ingest(source, tables, recipes))
    obstore.put(store, "new.md", OFFICE.encode())
    obstore.delete(store, "river.md")
    assert "input changed" in str(why_ingest(source, tables, recipes))
    fetched: list[str] = []

    def watch(environ: dict[str, str]) -> bool:
        if environ["REQUEST_METHOD"] == "GET" and "list-type" not in environ["QUERY_STRING"]:
            fetched.append(environ["PATH_INFO"])
        return False

    buckets.failing = watch
    assert sorted(read()) == ["a b/flood.txt", "new.md", "x.bin"]
    assert [path.rpartition("/")[2] for path in fetched] == ["new.md"]


@pytest.mark.parametrize("known", [True, False])
def test_an_object_that_cannot_be_read_keeps_its_row_and_is_tried_again(
    bucket: str, buckets: S3Server, tmp_path: Path, *, known: bool
) -> None:
    settings = load_settings(home=tmp_path / "home", named_sources={"docs": {"uri": bucket}})
    tables, recipes, store = SourceTables(Home(settings.home)), Recipes.of(settings), buckets.store(bucket)
    source = find_source(_named_only(settings, tmp_path), "docs")
    if known:
        read_source(source, tables, recipes)
    obstore.put(store, "river.md", OFFICE.encode())

    def vanish(environ: dict[str, str]) -> bool:
        if environ["PATH_INFO"].endswith("river.md") and environ["REQUEST_METHOD"] == "GET":
            obstore.delete(store, "river.md")
        return False

    buckets.failing = vanish
    version = read_source(source, tables, recipes).version
    assert version.counts["status"] == {"processed": 1, "skipped": 1, "stale" if known else "failed": 1}
    rows = {row["path"]: row for row in tables.read("raw_documents", "docs").to_pylist()}
    assert rows["river.md"]["content"] == (RIVER if known else "")
    assert rows["river.md"]["error"] == "cannot be read: it is not there any more"
    buckets.failing = lambda environ: False
    obstore.put(store, "river.md", OFFICE.encode())
    assert "input changed" in str(why_ingest(source, tables, recipes))
    assert read_source(source, tables, recipes).version.counts["status"] == {"processed": 2, "skipped": 1}


def _named_only(settings: Settings, folder: Path) -> Settings:
    (folder / "sources").mkdir(exist_ok=True)
    return settings.changed(sources=folder / "sources")


ROWS = [{"id": "1", "text": RIVER}, {"id": "2", "text": FLOOD}]


@pytest.fixture
def tables(server: BucketService, tmp_path: Path) -> str:
    """A prefix in a bucket, with rows in files of every kind."""
    uri = server.new_bucket()
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    files = {
        "a.csv": f'id,text\n1,"{RIVER}"\n2,"{FLOOD}"\n'.encode(),
        "b/rows.JSONL": "\n".join(map(json.dumps, ROWS)).encode(),
        "b/rows.parquet": (tmp_path / "rows.parquet").read_bytes(),
        "broken.parquet": b"PAR1",
        "notes.md": b"no rows",
    }
    for key, data in files.items():
        obstore.put(server.store(uri), key, data)
    return uri


def rows_of(tmp_path: Path, uri: str, **settings: object) -> dict[str, bytes]:
    named = {"pages": {"uri": uri, "rows": {}, **settings}}
    source = find_source(_named_only(load_settings(home=tmp_path / "home", named_sources=named), tmp_path), "pages")
    listed = list(pickle.loads(pickle.dumps(source)).origin.files())
    return {one.path: source.origin.read(one, 1_000_000) for one in listed}


@pytest.mark.parametrize("place", ["a.csv", "b", "b/*.JSONL", "b/rows.parquet"])
def test_rows_of_files_in_a_bucket(tables: str, tmp_path: Path, place: str) -> None:
    uri, include = (f"{tables}/{place}", {}) if place != "b" else (f"{tables}/b", {"include": ["*.parquet"]})
    assert rows_of(tmp_path, uri, **include) == {"1": RIVER.encode(), "2": FLOOD.encode()}


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("*.md", "notes.md has no rows; include only .csv"),
        ("gone.csv", "gone.csv is not there"),
        ("broken.parquet", "broken.parquet: .*too small to be a Parquet file"),
    ],
)
def test_rows_that_cannot_be_read_from_a_bucket_say_why(tables: str, tmp_path: Path, place: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        rows_of(tmp_path, f"{tables}/{place}")


def test_a_file_of_rows_in_a_bucket_that_is_refused_is_not_read(buckets: S3Server, tmp_path: Path) -> None:
    uri = buckets.new_bucket()
    for key in ("a.csv", "b\u2028.csv"):
        obstore.put(buckets.store(uri), key, b"id,text\n1,x\n")
    with pytest.raises(OSError, match=r"b\\u2028\.csv \(.*\): path holds control characters"):
        rows_of(tmp_path, uri)


DAYS = [f"2026-01-0{day}" for day in range(1, 10)]


def by_day(uri: str, place: str, days: list[str] = DAYS, **settings: object) -> Source:
    """Return a source of partitions in a bucket."""
    named = SourceSettings.model_validate({"uri": f"{uri}/{place}", "asset": "crawl/pages", **settings})
    return Source("pages", Partitioned("pages", named, dict.fromkeys(days, "1")))


@pytest.mark.parametrize(
    ("place", "key", "path"),
    [
        ("{partition}", "{partition}/b c/a.md", "b c/a.md"),
        ("{partition}/**/*.md", "{partition}/b c/a.md", "b c/a.md"),
        ("b%20c/{partition}/a.md", "b c/{partition}/a.md", "a.md"),
        ("{partition}.md", "{partition}.md", "{partition}.md"),
        ("{partition}/a.jsonl", "{partition}/a.jsonl", "id"),
        ("{partition}/*.jsonl", "{partition}/a.jsonl", "id"),
    ],
)
def test_the_partitions_in_a_bucket_share_connections(
    server: BucketService, monkeypatch: pytest.MonkeyPatch, place: str, key: str, path: str
) -> None:
    uri, rows = server.new_bucket(), place.endswith("jsonl")
    for day in DAYS:
        text = json.dumps({"id": "id", "text": f"Text of {day}"}) if rows else f"Text of {day}"
        obstore.put(server.store(uri), key.replace("{partition}", day), text.encode())
    open_counted = cache(Objects.open)
    monkeypatch.setattr(bucket_module, "_open", open_counted)
    origin = by_day(uri, place, DAYS, **{"rows": {}} if rows else {}).origin
    expected = {f"{day}/{path.replace('{partition}', day)}": f"Text of {day}".encode() for day in DAYS}
    assert found(origin) == expected
    assert open_counted.cache_info().currsize == 1


def test_a_partition_whose_object_is_missing_costs_itself(server: BucketService) -> None:
    uri = server.new_bucket()
    for day in DAYS[:-1]:
        obstore.put(server.store(uri), f"{day}.md", RIVER.encode())
    listed = list(list_files(by_day(uri, "{partition}.md", DAYS)))
    assert [one.refused for one in listed] == [
        *[None] * 8,
        f"partition '2026-01-09': {uri}/2026-01-09.md is not there; try again",
    ]
    with pytest.raises(SourceError, match=f"partition '2026-01-09': {uri}/2026-01-09.md is not there; nothing was"):
        list(list_files(by_day(uri, "{partition}.md", DAYS[-1:])))
    assert list(list_files(by_day(uri, "nothing/{partition}"))) == [], "a prefix without objects is an empty partition"


def test_a_single_object_that_is_missing_withholds_its_source(bucket: str) -> None:
    origin = choose_origin("docs", SourceSettings(uri=f"{bucket}/river.pdf"))
    with pytest.raises(
        SourceError, match=rf"source 'docs': .* cannot be listed: {bucket}/river.pdf is not there; noth"
    ):
        list(list_files(Source("docs", origin)))
    assert found(choose_origin("docs", SourceSettings(uri=f"{bucket}/river.md"))) == {"river.md": RIVER.encode()}


def test_a_partition_of_a_bucket_that_refuses_withholds_its_source(bucket: str, buckets: S3Server) -> None:
    with pytest.raises(SourceError, match=r"partition '2026-01-01': .*NoSuchBucket|partition '2026-01-01': .*404"):
        list(list_files(by_day(f"{bucket.replace('s3://', 's3://not-')}", "{partition}/")))


@pytest.fixture
def sftp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A folder with documents, and the URI of an SFTP server of it."""
    folder = tmp_path / "remote" / "wiki"
    (folder / "b" / ".git").mkdir(parents=True)
    for name, text in {"a.md": RIVER, "b/c.txt": FLOOD, "b/.git/x.md": "x", ".y.md": "y", "x.bin": "x"}.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (1_600_000_000, 1_600_000_000))
    monkeypatch.setitem(fsspec.config.conf, "sftp", {"password": PASSWORD})
    with serving_sftp(tmp_path / "remote") as port:
        yield f"sftp://{USER}@127.0.0.1:{port}/wiki", folder


def test_an_sftp_server_is_a_source(sftp: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri, folder = sftp
    assert found(FileSystem(uri)) == {"a.md": RIVER.encode(), "b/c.txt": FLOOD.encode()}
    assert list(found(FileSystem(uri, Patterns(("**/*.txt",))))) == ["b/c.txt"]
    assert list(found(FileSystem(f"{uri}/a.md"))) == ["a.md"]

    settings = load_settings(home=tmp_path / "home", named_sources={"wiki": {"uri": uri}})
    source, tables = find_source(_named_only(settings, tmp_path), "wiki"), SourceTables(Home(settings.home))
    assert read_source(source, tables, Recipes.of(settings)).version.counts["status"] == {"processed": 2, "skipped": 1}
    assert "chunks, never made" in str(why_ingest(source, tables, Recipes.of(settings)))
    (folder / "a.md").write_text(OFFICE)
    assert "input changed" in str(why_ingest(source, tables, Recipes.of(settings)))
    assert read_source(source, tables, Recipes.of(settings)).kept == 1  # that was not opened

    with pytest.raises(OSError, match="it is not there"):
        list(FileSystem(f"{uri}/gone").files())
    monkeypatch.setitem(fsspec.config.conf, "sftp", {"password": "wrong"})
    with pytest.raises(OSError, match="Authentication failed"):
        list(FileSystem(uri).files())


def test_no_symbolic_link_of_another_machine_is_followed(sftp: tuple[str, Path]) -> None:
    uri, folder = sftp
    (folder.parent / "secret.md").write_text("secret")
    for name, target in {"out.md": "../secret.md", "in.md": "a.md", "folder.md": "b"}.items():
        (folder / name).symlink_to(target)
    (folder.parent / "linked").symlink_to("wiki")
    refused = {
        one.path: one.refused for one in FileSystem(uri).files() if one.path.endswith("md") and one.path != "a.md"
    }
    assert refused == dict.fromkeys(
        ["out.md", "in.md", "folder.md"], "symbolic link, which is not followed; copy the file"
    )
    assert "a.md" in found(FileSystem(uri.replace("/wiki", "/linked")))


def test_a_symbolic_link_in_a_zip_archive_is_no_document(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, mode in {"link.md": 0o120777, "real.md": 0o100644, "dos.md": 0}.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, "/etc/passwd")
    refused = {one.path: one.refused for one in FileSystem(f"zip::{tmp_path}/a.zip").files()}
    assert refused == {
        "link.md": "symbolic link, which is not followed; copy the file",
        "real.md": None,
        "dos.md": None,
    }


def write_zip(path: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.mark.parametrize(
    ("inside", "patterns", "expected"),
    [
        ("", (("**/*",), ()), ["a.md", "b/c.txt", "b/d/e.md"]),
        ("b", (("**/*",), ()), ["c.txt", "d/e.md"]),
        ("", (("**/*.md",), ("a*",)), ["b/d/e.md"]),
        ("b/c.txt", (("**/*",), ()), ["c.txt"]),
    ],
)
def test_an_archive_is_a_source(
    tmp_path: Path, inside: str, patterns: tuple[tuple[str, ...], tuple[str, ...]], expected: list[str]
) -> None:
    files = {"a.md": RIVER, "b/c.txt": FLOOD, "b/d/e.md": OFFICE, ".x/y.md": "x", "b/.z.md": "z"}
    write_zip(tmp_path / "a.zip", files)
    origin = FileSystem(f"zip://{inside}::{tmp_path}/a.zip", Patterns(*patterns))
    read = found(origin)
    assert sorted(read) == expected
    assert set(read.values()) <= {text.encode() for text in files.values()}
    assert all(one.stamp_is_stable for one in origin.files())
    assert found(pickle.loads(pickle.dumps(origin))) == read


def test_a_changed_archive_is_noticed(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {"a.md": RIVER, "b.md": OFFICE})
    origin = FileSystem(f"zip::{tmp_path}/a.zip")
    before = {one.path: one.stamp for one in origin.files()}
    write_zip(tmp_path / "a.zip", {"new.md": FLOOD, "a.md": "other", "b.md": OFFICE})
    after = {one.path: one.stamp for one in origin.files()}
    assert sorted(after) == ["a.md", "b.md", "new.md"]
    assert (after["a.md"] == before["a.md"], after["b.md"] == before["b.md"]) == (False, True)
    assert found(origin)["new.md"] == FLOOD.encode()


def test_a_tar_archive_whose_files_have_the_same_times_and_sizes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    settings = load_settings(home=tmp_path / "home", named_sources={"docs": {"uri": f"tar::{path}"}})
    source, tables = find_source(_named_only(settings, tmp_path), "docs"), SourceTables(Home(settings.home))
    for text, kept in (("one", 0), ("one", 2), ("two", 0)):
        if not path.exists() or text == "two":
            write_archive(path, [("a.md", text), ("b.md", "same")])
            os.utime(path, (1, 1))
        assert (why_ingest(source, tables, Recipes.of(settings)) or "").startswith("chunks") is (kept == 2)
        assert read_source(source, tables, Recipes.of(settings)).kept == kept
        assert tables.read("raw_documents", "docs")["content"].to_pylist() == [text, "same"]


def test_a_broken_file_of_an_archive_costs_itself_alone(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("bad.md", RIVER)
        file.writestr("good.md", FLOOD)
    archive.write_bytes(archive.read_bytes().replace(RIVER.encode(), RIVER.swapcase().encode(), 1))
    settings = load_settings(home=tmp_path / "home", named_sources={"docs": {"uri": f"zip::{archive}"}})
    source, tables = find_source(_named_only(settings, tmp_path), "docs"), SourceTables(Home(settings.home))
    read_source(source, tables, Recipes.of(settings))
    rows = {row["path"]: row for row in tables.read("raw_documents", "docs").to_pylist()}
    assert (rows["bad.md"]["status"], rows["bad.md"]["error"]) == (
        "failed",
        "cannot be read: Bad CRC-32 for file 'bad.md'",
    )
    assert rows["good.md"]["content"] == FLOOD


def test_a_name_that_is_shown_as_another_or_an_impossible_time_costs_itself_alone(tmp_path: Path) -> None:
    path, names = tmp_path / "a.zip", {"a\tb.md": "one", "a\\tb.md": "two", "dup.md (entry 1 of 2)": "three"}
    write_archive(path, [*names.items(), ("dup.md", "four"), ("dup.md", "five")])
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")  # the last entry in the list of all
    data[at + 14 : at + 16] = b"\0\0"  # its day: month 0
    path.write_bytes(data)
    settings = load_settings(home=tmp_path / "home", named_sources={"docs": {"uri": f"zip::{path}"}})
    source, tables = find_source(_named_only(settings, tmp_path), "docs"), SourceTables(Home(settings.home))
    read_source(source, tables, Recipes.of(settings))
    rows = tables.read("raw_documents", "docs").to_pylist()
    assert len({row["doc_id"] for row in rows}) == len(rows) == 4
    assert {row["path"]: row["content"] for row in rows if row["status"] == "processed"} == {
        "a\\tb.md": "two",
        "dup.md": "five",
        "dup.md (entry 1 of 2)": "three",
    }


NAMES = {
    "a.md": "one",
    "../../x.md": "two",
    "/etc/abs.md": "three",
    "..\\windows.md": "four",
    "C:/drive.md": "five",
    "b/../../y.md": "six",
    "b/./c.md": "seven",
    "b//d.md": "eight",
    ".hidden/e.md": "nine",
}


def write_archive(path: Path, entries: list[tuple[str, str]]) -> None:
    """Write a ZIP or tar archive whose entries have any names."""
    if path.suffix == ".zip":
        with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
            warnings.filterwarnings("ignore", message="Duplicate name")
            for name, text in entries:
                archive.writestr(name, text)
        return
    with tarfile.open(path, "w") as archive_file:
        for name, text in entries:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(text), 1
            archive_file.addfile(member, io.BytesIO(text.encode()))


@pytest.mark.parametrize(("written", "path"), [("utf-8", "Größe/Übersicht.md"), ("cp437", "Größe/Übersicht.md")])
def test_a_name_in_a_zip_archive_may_be_utf_8_and_not_say_so(tmp_path: Path, written: str, path: str) -> None:
    name = path.encode(written)
    write_archive(tmp_path / "a.zip", [("x" * len(name), "one"), ("Ämter.md", "two")])
    archive = tmp_path / "a.zip"
    archive.write_bytes(archive.read_bytes().replace(b"x" * len(name), name))
    origin = FileSystem(f"zip::{archive}")
    assert {one.path: origin.read(one, 100) for one in origin.files()} == {path: b"one", "Ämter.md": b"two"}
    below = FileSystem(f"zip://Größe::{archive}")
    assert [one.path for one in below.files()] == ["Übersicht.md"]


@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_every_entry_of_an_archive_is_a_row(tmp_path: Path, name: str, settings: Settings) -> None:
    copies = [("dup.md", "first"), *NAMES.items(), ("dup.md", "second"), ("./dup.md", "third"), ("x.bin", "x")]
    write_archive(tmp_path / name, copies)
    uri = f"{Path(name).suffix[1:]}::{tmp_path}/{name}"
    settings = settings.model_copy(update={"named_sources": {"docs": SourceSettings(uri=uri)}})
    tables = SourceTables(Home(settings.home))
    read_source(find_source(settings, "docs"), tables, Recipes.of(settings))
    rows = {row["path"]: row for row in tables.read("raw_documents", "docs").to_pylist()}
    assert {path: row["content"] for path, row in rows.items() if row["status"] == "processed"} == {
        "a.md": "one",
        "b/c.md": "seven",
        "b/d.md": "eight",
        "dup.md": "third",
    }
    assert {path: row["error"].partition(";")[0] for path, row in rows.items() if row["status"] == "failed"} == (
        dict.fromkeys(
            ["../../x.md", "/etc/abs.md", "..\\windows.md", "C:/drive.md", "b/../../y.md"],
            "its name leads out of the archive",
        )
    )
    skipped = {path: row["error"] for path, row in rows.items() if row["status"] == "skipped"}
    assert sorted(skipped) == ["dup.md (entry 1 of 3)", "dup.md (entry 2 of 3)", "x.bin"]
    assert skipped["dup.md (entry 1 of 3)"].startswith("a later entry of the archive has the same name")


def test_what_tar_packs_from_a_folder_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_archive(path, [("./a.md", "one"), ("./b/c.md", "two")])
    assert found(FileSystem(f"tar::{path}")) == {"a.md": b"one", "b/c.md": b"two"}
    assert found(FileSystem(f"tar://b::{path}")) == {"c.md": b"two"}
    assert found(FileSystem(f"tar://b/c.md::{path}")) == {"c.md": b"two"}
    with pytest.raises(OSError, match="it is not there"):
        list(FileSystem(f"tar://gone::{path}").files())


def test_links_and_pipes_of_a_tar_archive_lead_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, target in (
            ("out.md", tarfile.SYMTYPE, "/etc/passwd"),
            ("pipe.md", tarfile.FIFOTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    origin = FileSystem(f"tar::{path}")
    out, pipe = sorted(origin.files(), key=lambda one: one.path)
    assert (out.refused, pipe.refused) == (None, "not a regular file")
    with pytest.raises(OSError, match="linkname '/etc/passwd' not found"):
        origin.read(out, 10)


def test_entries_outside_of_the_folder_are_no_rows(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", [("b/c.md", "one"), ("../x.md", "two"), ("b/../d.md", "three"), ("e.md", "four")])
    listed = {one.path: one.refused for one in FileSystem(f"zip://b::{tmp_path}/a.zip").files()}
    assert listed == {"c.md": None, "../d.md": "its name leads out of the archive; pack it under another"}


def _broken(path: Path) -> str:
    path.write_bytes(b"no archive")
    return f"zip::{path}"


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        (lambda folder: f"zip::{folder}/missing.zip", "No such file"),
        (lambda folder: _broken(folder / "a.zip"), "File is not a zip file"),
        (lambda folder: "memory://nothing/there", "it is not there"),
        (lambda folder: "smb://host/docs", '"smbprotocol"'),
        (lambda folder: "nosuch://host/docs", "Protocol not known"),
    ],
)
def test_a_file_system_that_cannot_be_opened_is_one_line(
    tmp_path: Path, uri: Callable[[Path], str], reason: str
) -> None:
    with pytest.raises(SourceError, match=f"source 's': .* cannot be listed: .*{reason}"):
        list(list_files(Source("s", FileSystem(uri(tmp_path)))))


def test_times_of_a_file_system_count_as_those_of_a_folder() -> None:
    from fsspec import filesystem

    filesystem("memory").pipe("/docs/a.md", b"text")
    (fresh,) = FileSystem("memory://docs").files()
    assert not fresh.stamp_is_stable
    assert abs(fresh.modified_at.timestamp() - time.time()) < 60
