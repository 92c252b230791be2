"""The mirror of a bucket, with real files and the memory store, or a server where clients must share it."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from obstore.store import MemoryStore
from pydantic import SecretStr

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import atomic, bucket, mirror
from lightrag_dagster.storage.files.cache import claim_folder, evict, is_held
from lightrag_dagster.storage.home import Home, bucket_uri

TABLE = "tables/chunks/notes/1.parquet"
RECORD = "tables/chunks/notes/current.json"
Machine = Callable[[str], Home]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Homes on machines by name, which share one bucket in memory."""
    store = MemoryStore()
    monkeypatch.setattr(Objects, "open", classmethod(lambda cls, uri: cls(uri, store)))
    uri = f"s3://bucket/{tmp_path.name}"

    def make(name: str) -> Home:
        (tmp_path / name / "0").mkdir(parents=True, exist_ok=True)
        return Home(tmp_path / name / "0", SecretStr("postgresql://nowhere"), uri, 1e9)

    return make


def write(home: Home, name: str, text: str) -> Path:
    atomic.write_text(home.root / name, text)
    return home.root / name


def test_records_are_fresh_and_data_is_fetched_when_needed(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with bucket.writing(one):
        table, record = write(one, TABLE, "rows"), write(one, RECORD, "1")
    assert is_held(table)
    assert is_held(record)
    bucket.refresh(other)
    assert (other.root / RECORD).read_text() == "1"
    assert not (other.root / TABLE).exists()
    bucket.fetch(other, [other.root / TABLE, other.root / "tables/chunks/notes/2.parquet"])
    assert (other.root / TABLE).read_text() == "rows"
    assert sorted(path.name for path in other.root.glob("tables/chunks/notes/*")) == ["1.parquet", "current.json"]
    with bucket.writing(one):
        record.unlink()
    bucket.refresh(other)
    assert not (other.root / RECORD).exists()


def test_what_was_not_pushed_is_forgotten_by_the_next_writer(machine: Machine) -> None:
    one = machine("one")
    with bucket.writing(one):
        write(one, RECORD, "1")
        write(one, "generations/gen-1/generation.json", "{}")
    write(one, RECORD, "never pushed")
    write(one, "accepted/notes.json", "never pushed")
    write(one, "generations/gen-1/graph.kuzu", "never pushed")
    write(one, "generations/gen-2/entities.parquet", "never pushed")
    with bucket.writing(one):
        assert (one.root / RECORD).read_text() == "1"
        assert not (one.root / "accepted/notes.json").exists()
        assert [path.name for path in one.root.glob("generations/*/*")] == ["generation.json"]


@pytest.mark.parametrize("footer", [8, 64 << 10])
def test_rows_are_counted_by_the_end_of_a_file(machine: Machine, monkeypatch: pytest.MonkeyPatch, footer: int) -> None:
    monkeypatch.setattr(bucket, "_FOOTER_BYTES", footer)
    one, other = machine("one"), machine("other")
    table = pa.table({"id": list(range(7))})
    with bucket.writing(one):
        atomic.write_parquet(one.root / TABLE, table)
    assert bucket.count_rows(other, [other.root / TABLE]) == 7
    assert not (other.root / TABLE).exists()
    assert bucket.count_rows(one, [one.root / TABLE]) == 7
    with pytest.raises(StoreError, match=r"2\.parquet is missing"):
        bucket.count_rows(other, [other.root / "tables/chunks/notes/2.parquet"])


def test_nothing_is_pushed_outside_a_block(machine: Machine) -> None:
    one = machine("one")
    write(one, "CURRENT", "left by a killed process")
    bucket.push(one)
    bucket.refresh(one)
    assert not one.current.exists()


def test_a_block_within_takes_over_what_other_ingestions_wrote_and_keeps_what_it_wrote(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with bucket.writing(one):
        write(one, "accepted/mine.json", "mine")
        write(one, "NEWEST", "mine")
        with bucket.writing(other):
            write(other, "accepted/yours.json", "yours")
        with bucket.writing(one):
            assert (one.root / "accepted/yours.json").read_text() == "yours"
            assert (one.root / "accepted/mine.json").read_text() == "mine"
    bucket.refresh(other)
    assert (other.root / "NEWEST").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"), [("CURRENT", "another builder published"), (RECORD, "another ingestion wrote")]
)
def test_the_slower_of_two_writers_is_told(machine: Machine, name: str, message: str) -> None:
    one, other = machine("one"), machine("other")
    with pytest.raises(StoreError, match=message), bucket.writing(one):  # noqa: PT012
        with bucket.writing(other):
            write(other, name, "quicker")
        write(one, name, "slower")
    bucket.refresh(one)
    assert (one.root / name).read_text() == "quicker"


def test_what_a_failed_block_wrote_is_there_as_on_a_disk(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with pytest.raises(KeyError), bucket.writing(one):  # noqa: PT012
        write(one, RECORD, "1")
        raise KeyError
    bucket.refresh(other)
    assert (other.root / RECORD).read_text() == "1"


def test_a_folder_is_fetched_with_what_is_below_it_and_nothing_beside(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with bucket.writing(one):
        for name in ("gen-1/entities.parquet", "gen-1/adjacency/ends.npy", "gen-2/entities.parquet"):
            write(one, f"generations/{name}", name)
    bucket.fetch_folder(other, other.generation("gen-1"))
    found = [path for path in other.generations.rglob("*") if path.is_file()]
    assert {str(path.relative_to(other.generations)): path.read_text() for path in found} == {
        name: name for name in ("gen-1/entities.parquet", "gen-1/adjacency/ends.npy")
    }


def test_processes_of_a_machine_have_a_folder_each_and_share_bytes(machine: Machine) -> None:
    first = machine("one")
    with bucket.writing(first):
        write(first, "generations/gen-1/graph.kuzu", "graph")
    second = Home(first.root.parent / "1", first.database, first.bucket, first.cached_bytes)
    bucket.fetch_folder(second, second.generation("gen-1"))
    paths = [home.generation("gen-1") / "graph.kuzu" for home in (first, second)]
    assert paths[0].samefile(paths[1])


def test_a_folder_is_removed_on_disk_and_in_the_bucket(machine: Machine) -> None:
    one, other = machine("one"), machine("other")
    with bucket.writing(one):
        write(one, "generations/gen-1/generation.json", "{}")
        write(one, "generations/gen-1/graph.kuzu", "graph")
    with bucket.writing(other):
        assert list(bucket.stored_files(other, other.generations)) == [other.generation("gen-1") / "graph.kuzu"]
        bucket.remove_folder(other, other.generation("gen-1"))
    assert bucket.stored_files(one, one.generations) == {}
    bucket.refresh(one)
    assert not one.generation("gen-1").exists()


def test_the_cache_drops_what_was_not_used_for_longest(tmp_path: Path) -> None:
    now = time.time()
    for name, age, mode in (("old", 9000, 0o444), ("older", 9999, 0o444), ("new", 10, 0o444), ("own", 99999, 0o644)):
        path = tmp_path / "tables" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
        path.chmod(mode)
        os.utime(path, (now - age, now - age))

    def left(limit: float) -> list[str]:
        evict(tmp_path, ["tables"], limit)
        return sorted(path.stem for path in tmp_path.rglob("*.parquet"))

    assert left(300) == ["new", "old", "older", "own"]
    assert left(200) == ["new", "old", "own"]
    assert left(0) == ["new", "own"]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The limits with which all files of a cache were looked at."""
    found: list[float] = []

    def counted(root: Path, folders: Iterable[str], limit: float) -> int:
        found.append(limit)
        return evict(root, folders, limit)

    monkeypatch.setattr(mirror, "evict", counted)
    return found


FILES, BYTES = 200, 100


def fetched(machine: Machine, limit: float, seconds: float) -> Iterator[int]:
    """Fetch files one after the other, which were used so many seconds ago, and yield the size of the cache."""
    one, other = machine("one"), replace(machine("other"), cached_bytes=limit)
    names = [f"tables/chunks/notes/{number}.parquet" for number in range(FILES)]
    with bucket.writing(one):
        for name in names:
            write(one, name, "x" * BYTES)
    for path in (other.root / name for name in names):
        bucket.fetch(other, [path])
        os.utime(path, (time.time() - seconds,) * 2)
        yield sum(one.stat().st_size for one in other.root.rglob("*.parquet"))


def test_a_cache_with_room_is_looked_at_once(machine: Machine, looks: list[float]) -> None:
    assert max(fetched(machine, 10 * FILES * BYTES, 10)) == FILES * BYTES
    assert len(looks) == 1


def test_a_full_cache_stays_within_its_limit_and_is_looked_at_in_steps(machine: Machine, looks: list[float]) -> None:
    limit = FILES * BYTES / 2
    sizes = list(fetched(machine, limit, 9999))
    assert max(sizes) <= limit
    assert min(sizes[FILES // 2 :]) >= 0.9 * limit
    assert len(looks) <= 1 + FILES * BYTES / (0.05 * limit)


def test_a_cache_of_files_in_use_is_looked_at_in_steps_too(machine: Machine, looks: list[float]) -> None:
    limit = FILES * BYTES / 4
    assert max(fetched(machine, limit, 10)) == FILES * BYTES
    assert len(looks) <= 1 + FILES * BYTES / (0.05 * limit)


def test_a_process_keeps_its_folder(tmp_path: Path) -> None:
    folder = claim_folder(tmp_path, "s3://bucket/one")
    assert folder.name == "0"
    assert claim_folder(tmp_path, "s3://bucket/one") == folder
    assert claim_folder(tmp_path, "s3://bucket/two").parent != folder.parent


@pytest.mark.parametrize(
    ("home", "uri"),
    [
        ("s3://bucket/some/home", "s3://bucket/some/home"),
        ("gs://bucket", "gs://bucket"),
        ("az://container/home/", "az://container/home"),
        ("data/s3", None),
        ("/srv/s3:/data", None),
    ],
)
def test_a_uri_is_recognised_in_a_path(home: str, uri: str | None) -> None:
    assert bucket_uri(Path(home)) == uri
