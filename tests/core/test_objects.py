import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from lightrag_dagster.core import objects
from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import SettingsError, StoreError
from tests.buckets import BucketService, S3Server

Open = Callable[[], Objects]


@pytest.fixture(params=["memory", "buckets", "google", pytest.param("seaweed", marks=pytest.mark.long)])
def stored(request: pytest.FixtureRequest) -> Objects:
    if request.param == "memory":
        return Objects("memory://home", MemoryStore())
    server: BucketService = request.getfixturevalue(request.param)
    return Objects.open(server.new_bucket())


def test_an_object_is_created_once_and_replaced_only_by_who_knows_its_tag(stored: Objects) -> None:
    first = stored.replace("records/PUBLISHED", b"1", None)
    assert first is not None
    assert stored.replace("records/PUBLISHED", b"2", None) is None
    second = stored.replace("records/PUBLISHED", b"2", first)
    assert second not in (None, first)
    assert stored.replace("records/PUBLISHED", b"3", first) is None
    assert stored.get("records/PUBLISHED") == (b"2", second)


def test_a_repeated_attempt_that_meets_its_own_object_has_succeeded(stored: Objects) -> None:
    tag = stored.replace("records/PUBLISHED", b"1", None)
    assert stored.replace("records/PUBLISHED", b"1", None) == tag


def test_of_many_that_replace_an_object_at_once_one_succeeds(stored: Objects) -> None:
    tag = None
    for turn in range(3):
        with ThreadPoolExecutor(8) as threads:
            contents = [f"{turn} {number}".encode() for number in range(8)]
            tags = list(threads.map(partial(stored.replace, "records/PUBLISHED", before=tag), contents))
        ((content, tag),) = ((content, one) for content, one in zip(contents, tags, strict=True) if one)
        assert stored.get("records/PUBLISHED") == (content, tag)


def test_what_is_missing_keeps_nothing_else_from_being_removed(stored: Objects) -> None:
    for number in range(30):
        stored.upload(f"tables/{number}", b"rows", create=False)
    stored.delete([f"tables/{number}" for number in range(-30, 29)])
    assert list(stored.list("tables")) == ["tables/29"]
    stored.delete([])


def test_files_are_uploaded_listed_downloaded_and_removed(stored: Objects, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"rows")
    for name in ("tables/chunks/a b/1.parquet", "tables/chunks/a%20b/2.parquet", "tables2/3.parquet"):
        stored.upload(name, source, create=True)
    source.write_bytes(b"other rows")
    stored.upload("tables/chunks/a b/1.parquet", source, create=True)
    stored.upload("tables2/3.parquet", source, create=False)
    found = stored.list("tables")
    assert {key: one.size for key, one in found.items()} == {
        "tables/chunks/a b/1.parquet": 4,
        "tables/chunks/a%20b/2.parquet": 4,
    }
    assert all(abs(one.modified.timestamp() - time.time()) < 60 for one in found.values())
    assert stored.download("tables2/3.parquet", target)
    assert target.read_bytes() == b"other rows"
    stored.delete(["tables/chunks/a b/1.parquet", "tables/never"])
    assert list(stored.list("tables")) == ["tables/chunks/a%20b/2.parquet"]


def test_what_is_not_there_is_none(stored: Objects, tmp_path: Path) -> None:
    assert stored.get("records/PUBLISHED") is None
    assert not stored.download("tables/1.parquet", tmp_path / "target")
    assert stored.list("tables") == {}
    stored.delete([])


def test_a_large_file_goes_in_parts(buckets: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_MULTIPART_BYTES", 1000)
    stored, source = Objects.open(buckets.new_bucket()), tmp_path / "source"
    source.write_bytes(bytes(12_000_000))
    stored.upload("graph", source, create=True)
    assert stored.list("")["graph"].size == 12_000_000
    puts = buckets.requests["PUT"]
    stored.upload("graph", source, create=True)
    assert buckets.requests["PUT"] == puts


def test_the_first_bytes_of_an_object(buckets: S3Server) -> None:
    objects = Objects.open(buckets.new_bucket())
    objects.upload("a/b", b"0123456789", create=True)
    assert [objects.first("a/b", size) for size in (0, 4, 10, 99)] == [b"", b"0123", b"0123456789", b"0123456789"]
    assert objects.first("a/missing", 4) is None
    assert objects.head("a/missing") is None
    found = objects.head("a/b")
    assert found is not None
    assert (found.size, dict(objects.walk("a")) == {"a/b": found}) == (10, True)


def test_503_is_retried_and_a_bucket_that_is_not_there_is_one_line(buckets: S3Server) -> None:
    uri = buckets.new_bucket()
    failures = iter([True, True, False])
    buckets.failing = lambda environ: next(failures, False)
    assert Objects.open(uri).replace("records/PUBLISHED", b"1", None) is not None
    with pytest.raises(StoreError, match=r"^s3://nothing-here/x/records/ cannot be used: .*NoSuchBucket.*run again$"):
        Objects.open("s3://nothing-here/x").list("records")


def test_an_uri_that_cannot_be_used_is_one_line() -> None:
    with pytest.raises(SettingsError, match=r"^az://container/home cannot be used: "):
        Objects.open("az://container/home")
