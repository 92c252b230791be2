"""Garbage collection beside real builds."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import lancedb
import pyarrow as pa
import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import BuilderLockedError, QueryError, StoreError
from lightrag_dagster.purge.documents import stored_documents
from lightrag_dagster.query import snapshot
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.schemas import ANSWERS
from lightrag_dagster.settings import RetentionSettings, Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.locking import building, ingesting
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots import lance_files, snapshots
from lightrag_dagster.storage.snapshots.gc import collect_garbage, remove_unused
from lightrag_dagster.storage.snapshots.readers import is_read, mark_read
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from lightrag_dagster.storage.snapshots.verify import find_damage
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.buckets import S3Server
from tests.storage.years import Years, build_year
from tests.support import build, published, snapshot_contents, write_source

Result = TypeVar("Result")

QUESTION = "Who maintains the gauge at Halden Weir?"


def keep(number: int, days: float = 0) -> RetentionSettings:
    return RetentionSettings(snapshots=number, grace_days=days)


@pytest.mark.long
def test_a_name_opens_a_snapshot_and_keeps_it(years: Years) -> None:
    settings, (first, *_, last) = years(3)
    home = Home(settings.home)
    snapshots.pin(home, "audit", first)
    with pytest.raises(StoreError, match=f"{first} is pinned as audit"):
        snapshots.pin(home, "audit", last)

    garbage = collect_garbage(home, keep(1), dry_run=False)

    assert garbage.kept[first] == "pinned as audit"
    assert len(garbage.generations) == 1
    with KnowledgeBase.open(settings.home, "audit", settings=settings) as knowledge:
        assert knowledge.snapshot_id == first
        assert "2001" in knowledge.context("Who built the gauge at Halden Weir?", mode="naive")
    snapshots.pin(home, "audit", None)
    with pytest.raises(QueryError, match="no snapshot audit"):
        KnowledgeBase.open(settings.home, "audit", settings=settings)


def test_a_file_in_place_of_a_generation_is_named(tmp_path: Path) -> None:
    stray = Home(tmp_path).generation("gen-0")
    stray.parent.mkdir()
    stray.write_text("")
    with pytest.raises(StoreError, match=f"^cannot write {stray}/manifest.json: Not a directory; .* correct that"):
        collect_garbage(Home(tmp_path), keep(1), dry_run=False)


@pytest.mark.long
def test_garbage_is_what_nobody_needs(years: Years) -> None:
    settings, _ = years(3)
    home = Home(settings.home)
    before = snapshot_contents(settings)

    planned = collect_garbage(home, keep(2), dry_run=True)
    assert len(list_snapshots(home)) == 3
    done = collect_garbage(home, keep(2), dry_run=False)

    assert planned.generations == done.generations
    assert len(done.generations) == 1
    assert done.table_versions == planned.table_versions > 3
    assert done.bytes_after < done.bytes_before
    assert [one.sequence for one in list_snapshots(home)] == [2, 3]
    assert snapshot_contents(settings) == before
    assert collect_garbage(home, keep(2), dry_run=False).table_versions == 0
    build_year(settings, 2001)
    assert snapshot_contents(settings)["entities"] != before["entities"]


@pytest.mark.long
def test_a_version_of_vectors_between_two_kept_ones_goes_and_nothing_is_written_again(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance_files, "MAX_DELETED_SHARE", 1)
    settings, (first, _, last) = years(3)
    home = Home(settings.home)
    snapshots.pin(home, "audit", first)
    before = home.files.list_folder(home.lance).keys()

    garbage = collect_garbage(home, keep(1), dry_run=False)

    after = home.files.list_folder(home.lance).keys()
    assert after < before
    assert before - after == {path for one in garbage.vectors for path in one.unused}
    assert {path.stem for path in after if path.suffix == ".json"} == {"latest_version_hint", first, last}
    for entry in snapshots.read_manifest(home, first).vectors.tables.values():
        handle = lancedb.connect(home.lance_uri).open_table(entry.table)
        tags = {handle.tags.get_version(tag) for tag in handle.tags.list()}
        assert {one["version"] for one in handle.list_versions()} == tags | {handle.version}
    assert [find_damage(home, one, verify=True) for one in (first, last)] == [[], []]
    build_year(settings, 2005)
    collect_garbage(home, keep(2), dry_run=False)
    assert [find_damage(home, one.snapshot_id, verify=True) for one in list_snapshots(home)] == [[]] * 3


@pytest.mark.long
def test_a_table_with_many_deleted_rows_or_parts_is_written_again(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = years(3)
    home = Home(settings.home)
    before = snapshot_contents(settings)
    monkeypatch.setattr(lance_files, "MAX_FRAGMENTS", 1)
    collect_garbage(home, keep(1), dry_run=False)
    table = published(settings).vectors.tables["relation_vectors"].table
    assert lancedb.connect(home.lance_uri).open_table(table).list_versions()[-1]["metadata"]["total_fragments"] == "1"
    assert snapshot_contents(settings) == before
    monkeypatch.undo()
    build_year(settings, 2005)
    collect_garbage(home, keep(1), dry_run=False)
    assert find_damage(home, published(settings).snapshot_id, verify=True) == []


@pytest.mark.long
def test_nothing_of_a_vector_table_goes_if_lancedb_counts_other_files(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = years(3)
    home = Home(settings.home)
    before = home.files.list_folder(home.lance).keys()
    monkeypatch.setattr(lance_files, "_varint", lambda number: b"not in a manifest")
    with pytest.raises(
        StoreError, match=r"has other files in version \d+ than LanceDB counts; nothing of it was removed"
    ):
        collect_garbage(home, keep(1), dry_run=False)
    assert home.files.list_folder(home.lance).keys() == before


def test_answers_and_evaluations_that_were_replaced_are_garbage(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home, ALL_SOURCES, "first", "second")
    assert collect_garbage(home, keep(1), dry_run=False).table_versions == 1
    assert SourceTables(home).read("answers", ALL_SOURCES)["answer"].to_pylist() == ["second"]


@pytest.mark.long
def test_a_snapshot_stays_for_its_grace_period(years: Years) -> None:
    settings, (first, second, third) = years(3)
    home = Home(settings.home)
    manifest = snapshots.read_manifest(home, first)
    old = (datetime.now(UTC) - timedelta(days=30)).isoformat(timespec="seconds")
    home.generation(first).joinpath("manifest.json").write_text(
        manifest.model_copy(update={"published_at": old}).model_dump_json()
    )

    # It was published long ago, but readers could open it until a moment ago.
    assert collect_garbage(home, keep(1, days=7), dry_run=False).kept == {
        first: "published lately",
        second: "published lately",
        third: "published",
    }
    assert collect_garbage(home, keep(1), dry_run=False).generations == sorted([first, second])


def test_a_snapshot_that_a_release_replaced_stays_for_its_grace_period(years: Years) -> None:
    settings, (first, _, third) = years(3)
    home = Home(settings.home)
    pointer = home.published.read_text()
    assert first in pointer
    snapshots.rollback(home, first)
    before = snapshots.last_published(home, snapshots.read_manifest(home, third))
    snapshots.release(home)
    assert snapshots.published_snapshot(home) == snapshots.read_manifest(home, third)
    assert snapshots.last_published(home, snapshots.read_manifest(home, first)) >= before
    assert collect_garbage(home, keep(1, days=1), dry_run=True).kept[first] == "published lately"


def test_a_snapshot_stays_while_it_is_open_and_no_longer(years: Years) -> None:
    settings, (first, *_) = years(3)
    home = Home(settings.home)
    with (
        KnowledgeBase.open(settings.home, first, settings=settings) as knowledge,
        KnowledgeBase.open(settings.home, first, settings=settings),
    ):
        assert collect_garbage(home, keep(1), dry_run=False).kept[first] == "being read"
        assert knowledge.retrieve(QUESTION, mode="mix", filters=Filters(sources="notes")).chunks
        knowledge.close()
        assert first in collect_garbage(home, keep(1), dry_run=False).kept
    assert collect_garbage(home, keep(1), dry_run=False).generations == [first]


def test_a_snapshot_that_another_process_has_open_stays_until_that_is_killed(years: Years) -> None:
    settings, (first, *_) = years(2)
    home = Home(settings.home)
    script = f"""
import sys; from pathlib import Path; from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.readers import mark_read
mark = mark_read(Home(Path(sys.argv[1])), "{first}"); print("open", flush=True); sys.stdin.read()
"""
    command = [sys.executable, "-c", script, str(settings.home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout
        assert reader.stdout.readline() == b"open\n"
        assert collect_garbage(home, keep(1), dry_run=False).kept[first] == "being read"
        reader.kill()
    assert collect_garbage(home, keep(1), dry_run=False).generations == [first]


def test_a_snapshot_that_is_open_is_seen_where_only_writers_lock_alone(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, (first,) = years(1)
    home, lock = Home(settings.home), fcntl.flock

    def of_nfs(file: Any, how: int) -> None:
        if how & fcntl.LOCK_EX and fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", of_nfs)
    assert not is_read(home, first)
    mark = mark_read(home, first)
    assert mark
    assert is_read(home, first)
    mark.close()


def test_a_reader_of_a_removed_snapshot_is_told_to_open_again(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "mark_read", lambda *_: None)  # as in a bucket
    settings, (first, *_) = years(3)
    home = Home(settings.home)
    with KnowledgeBase.open(settings.home, first, settings=settings) as knowledge:
        assert first in collect_garbage(home, keep(1), dry_run=False).generations
        with pytest.raises(StoreError, match=f"{first} was removed by `gc` while it was open; open .* again"):
            knowledge.retrieve(QUESTION, mode="mix", filters=Filters(sources="notes"))
        with pytest.raises(StoreError, match=f"{first} was removed by `gc` while it was open"):
            knowledge.sql("FROM entities")
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.retrieve(QUESTION, mode="mix", filters=Filters(sources="notes")).chunks


def test_a_snapshot_that_is_removed_while_it_is_opened_is_named(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, (first, *_) = years(3)
    home = Home(settings.home)

    def collected_meanwhile(home: Home) -> Manifest:
        """Return the snapshot that was current before two were published and garbage was collected."""
        found = snapshots.read_manifest(home, first)
        collect_garbage(home, keep(1), dry_run=False)
        return found

    monkeypatch.setattr(snapshots, "require_published", collected_meanwhile)
    with pytest.raises(StoreError, match=f"{first} was removed by `gc`"):
        open_snapshot(home, None)


@contextmanager
def elsewhere(home: Home, source: str) -> Iterator[Callable[[Callable[[], Result]], Result]]:
    """Hold the lock of a source in another thread, as an ingestion does, and give what runs something there."""
    with ThreadPoolExecutor(1) as thread, ExitStack() as held:
        thread.submit(held.enter_context, ingesting(home, source, 0)).result()
        try:
            yield lambda task: thread.submit(task).result()
        finally:
            thread.submit(held.close).result()


def answers(text: str) -> pa.Table:
    row = {field.name: [] if pa.types.is_list(field.type) else "" for field in ANSWERS}
    return pa.Table.from_pylist([row | {"answer": text}], ANSWERS)


def write(home: Home, source: str, *texts: str) -> None:
    """Write versions of a table, one after the other, which are old by now."""
    for text in texts:
        SourceTables(home).write("answers", source, answers(text), inputs={}, recipe="")
    for path in home.root.rglob("*.parquet"):
        os.utime(path, (0, 0))


def files_of(home: Home, source: str) -> int:
    return len(list(home.source_table("answers", source).glob("*.parquet")))


@pytest.mark.parametrize("stored", ["new", "first"], ids=["a new file", "an old file that is used again"])
def test_the_files_of_a_running_ingestion_stay(any_home: Home, stored: str) -> None:
    write(any_home, "busy", "first", "second")
    write(any_home, "quiet", "first", "second")
    tables = SourceTables(any_home)
    with elsewhere(any_home, "busy") as run, building(any_home, 0):
        shard = run(lambda: tables.store("answers", "busy", answers(stored)))
        for path in tables.open_stored("answers", "busy", [shard]):
            os.utime(path, (0, 0))
        planned = collect_garbage(any_home, keep(1), dry_run=True)
        done = collect_garbage(any_home, keep(1), dry_run=False)
        run(lambda: tables.record("answers", "busy", [shard], inputs={}, recipe=""))
    assert (done.skipped, done.table_versions) == (planned.skipped, planned.table_versions) == (["busy"], 1)
    assert tables.read("answers", "busy")["answer"].to_pylist() == [stored]
    assert files_of(any_home, "quiet") == 1
    with building(any_home, 0):
        again = collect_garbage(any_home, keep(1), dry_run=False)
    assert again.skipped == []
    assert files_of(any_home, "busy") == 1
    assert tables.read("answers", "busy")["answer"].to_pylist() == [stored]


def test_a_file_of_a_backfill_stays_while_it_runs(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home, "busy", "first", "second")
    candidate = SourceTables(home, candidate=True)
    with elsewhere(home, "busy") as run, building(home, 0):
        shard = run(lambda: candidate.store("answers", "busy", answers("first")))
        assert collect_garbage(home, keep(1), dry_run=False).skipped == ["busy"]
        run(lambda: candidate.record("answers", "busy", [shard], inputs={}, recipe=""))
    with building(home, 0):
        assert collect_garbage(home, keep(1), dry_run=False).table_versions == 0
    assert candidate.read("answers", "busy")["answer"].to_pylist() == ["first"]


def test_what_a_killed_ingestion_left_half_written_goes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home, "busy", "first")
    left = home.source_table("answers", "busy") / ".0123.parquet.89ab.tmp"
    left.write_bytes(b"the beginning of a table")
    with elsewhere(home, "busy"), building(home, 0):
        assert collect_garbage(home, keep(1), dry_run=False).skipped == ["busy"]
        assert left.exists()
    with building(home, 0):
        collect_garbage(home, keep(1), dry_run=False)
    assert not left.exists()
    assert files_of(home, "busy") == 1


def test_a_source_without_garbage_is_not_waited_for(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home, "busy", "first")
    with elsewhere(home, "busy"), building(home, 0):
        assert collect_garbage(home, keep(1), dry_run=False).skipped == []


def test_a_table_is_written_under_the_lock_of_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    monkeypatch.setattr("lightrag_dagster.storage.tables.source_tables.STEP_SECONDS", 0)
    with elsewhere(home, ALL_SOURCES), pytest.raises(BuilderLockedError, match="is ingesting source 'all'"):
        write(home, ALL_SOURCES, "first")
    assert files_of(home, ALL_SOURCES) == 0


@pytest.fixture
def machine(buckets: S3Server, postgres: SecretStr, tmp_path: Path) -> Callable[[str], Home]:
    """Homes on machines by name, which share a bucket and a database."""
    uri = buckets.new_bucket()

    def make(name: str) -> Home:
        (tmp_path / name / "0").mkdir(parents=True)
        return Home(tmp_path / name / "0", postgres, uri, 1e9)

    return make


def test_what_another_machine_recorded_meanwhile_stays_in_a_bucket(machine: Callable[[str], Home]) -> None:
    one, other = machine("one"), machine("other")
    write(one, "notes", "first", "second")
    with building(one, 0):
        write(other, "notes", "third")
        assert collect_garbage(one, keep(1), dry_run=False).table_versions == 2
    reader = machine("reader")
    refresh(reader)
    assert SourceTables(reader).read("answers", "notes")["answer"].to_pylist() == ["third"]


def test_a_file_that_is_cached_and_was_collected_is_stored_again(machine: Callable[[str], Home]) -> None:
    one, other = machine("one"), machine("other")
    write(one, "notes", "first", "second")
    with building(other, 0):
        assert collect_garbage(other, keep(1), dry_run=False).table_versions == 1
    write(one, "notes", "first")
    reader = machine("reader")
    refresh(reader)
    assert SourceTables(reader).read("answers", "notes")["answer"].to_pylist() == ["first"]


def test_what_another_machine_collected_goes_from_the_cache_too(machine: Callable[[str], Home]) -> None:
    one, other = machine("one"), machine("other")
    write(one, "notes", "first", "second")
    with building(other, 0):
        collect_garbage(other, keep(1), dry_run=False)
    assert files_of(one, "notes") == 2
    with building(one, 0):
        collect_garbage(one, keep(1), dry_run=False)
    assert files_of(one, "notes") == 1
    assert SourceTables(one).read("answers", "notes")["answer"].to_pylist() == ["second"]


@pytest.mark.long
def test_a_kill_leaves_no_list_of_files_that_are_gone(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROWS", 2)
    files = {f"{number}.md": f"The gauge number {number} is at Halden Weir." for number in range(8)}
    write_source(settings, "notes", files)
    build(settings)
    write_source(settings, "notes", {name: f"{text} It is new." for name, text in files.items()})
    build(settings)
    home, unlink, left = Home(settings.home), os.unlink, iter(range(3))

    def killed(path: str | Path, **options: Any) -> None:
        if "raw_documents" in str(path) and next(left, None) is None:
            raise KeyboardInterrupt
        unlink(path, **options)

    with building(home), monkeypatch.context() as patched:
        patched.setattr(os, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_unused(home, {published(settings).snapshot_id: "published"}, dry_run=False)
    assert stored_documents(home, "notes").num_rows > len(files)
