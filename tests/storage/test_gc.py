"""Garbage collection beside real builds."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lancedb
import lancedb.table
import pyarrow as pa
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.query import snapshot
from lightrag_dagster.query.filters import Filters
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.schemas import ANSWERS
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage import gc, snapshots
from lightrag_dagster.storage.gc import collect_garbage
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Manifest
from lightrag_dagster.storage.snapshots import list_snapshots
from lightrag_dagster.storage.tables import ALL_SOURCES, SourceTables
from tests.storage.years import Years, build_year
from tests.support import snapshot_contents

QUESTION = "Who maintains the gauge at Halden Weir?"


def keep(number: int, days: float = 0) -> RetentionSettings:
    return RetentionSettings(snapshots=number, grace_days=days)


@pytest.fixture(autouse=True)
def no_minimum_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "MINIMUM_AGE", 0.0)


def test_a_name_opens_a_snapshot_and_keeps_it(years: Years) -> None:
    settings, (first, *_) = years(3)
    home = Home(settings.home)
    snapshots.pin(home, "audit", first)
    build_year(settings, 2004)

    garbage = collect_garbage(home, keep(1), dry_run=False)

    assert garbage.retained[first] == "named audit"
    assert len(garbage.generations) == 2
    with KnowledgeBase.open(settings.home, "audit", settings=settings) as knowledge:
        assert knowledge.snapshot_id == first
        assert "2001" in knowledge.context("Who built the gauge at Halden Weir?", mode="naive")
    snapshots.pin(home, "audit", None)
    with pytest.raises(StoreError, match="no snapshot audit"):
        KnowledgeBase.open(settings.home, "audit", settings=settings)


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


def test_vectors_are_cleaned_up_to_the_oldest_version_that_a_snapshot_reads(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LanceDB refuses to remove what is older than a limit when a tag is, as those of all retained snapshots are."""
    settings, _ = years(3)
    optimize = lancedb.table.LanceTable.optimize
    limits: list[tuple[datetime, list[datetime]]] = []

    def watched(table: Any, *, cleanup_older_than: timedelta | None = None, **more: Any) -> Any:
        if cleanup_older_than is not None:
            tagged = {table.tags.get_version(tag) for tag in table.tags.list()}
            times = sorted(one["timestamp"] for one in table.list_versions() if one["version"] in tagged)
            limits.append((datetime.now() - cleanup_older_than, times))
            cleanup_older_than += timedelta(seconds=60)
        return optimize(table, cleanup_older_than=cleanup_older_than, **more)

    monkeypatch.setattr(gc, "CLEANUP_MARGIN", timedelta(0))
    monkeypatch.setattr(lancedb.table.LanceTable, "optimize", watched)
    collect_garbage(Home(settings.home), keep(2), dry_run=False)
    assert len(limits) == 3
    for limit, (oldest, newest) in limits:
        assert oldest <= limit < newest


def test_answers_and_evaluations_that_were_replaced_are_garbage(tmp_path: Path) -> None:
    home = Home(tmp_path)
    tables = SourceTables(home)
    row = {field.name: [] if pa.types.is_list(field.type) else "" for field in ANSWERS}
    for answer in ("first", "second"):
        rows = pa.Table.from_pylist([row | {"answer": answer}], ANSWERS)
        tables.write("answers", ALL_SOURCES, rows, inputs={}, fingerprint="")
    assert collect_garbage(home, keep(1), dry_run=False).table_versions == 1
    assert tables.read("answers", ALL_SOURCES)["answer"].to_pylist() == ["second"]


def test_a_snapshot_stays_for_its_grace_period(years: Years) -> None:
    settings, (first, second, third) = years(3)
    home = Home(settings.home)
    manifest = snapshots.read_manifest(home, first)
    old = (datetime.now(UTC) - timedelta(days=30)).isoformat(timespec="seconds")
    home.generation(first).joinpath("manifest.json").write_text(
        manifest.model_copy(update={"published_at": old}).model_dump_json()
    )

    # It was published long ago, but readers could open it until a moment ago.
    assert collect_garbage(home, keep(1, days=7), dry_run=False).retained == {
        first: "in its grace period",
        second: "in its grace period",
        third: "published",
    }
    assert collect_garbage(home, keep(1), dry_run=False).generations == sorted([first, second])


def test_a_snapshot_that_a_release_replaced_stays_for_its_grace_period(years: Years) -> None:
    settings, (first, _, third) = years(3)
    home = Home(settings.home)
    pointer = home.current.read_text()
    assert first in pointer
    snapshots.rollback(home, first)
    before = snapshots.last_current(home, snapshots.read_manifest(home, third))
    snapshots.release(home)
    assert snapshots.current_snapshot(home) == snapshots.read_manifest(home, third)
    assert snapshots.last_current(home, snapshots.read_manifest(home, first)) >= before
    assert collect_garbage(home, keep(1, days=1), dry_run=True).retained[first] == "in its grace period"


def test_a_reader_of_a_removed_snapshot_is_told_to_open_again(years: Years) -> None:
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

    monkeypatch.setattr(snapshot, "require_current", collected_meanwhile)
    with pytest.raises(StoreError, match=f"{first} was removed by `gc`"):
        open_snapshot(home, None)


def test_a_young_version_goes_only_where_the_source_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "MINIMUM_AGE", 60.0)
    home = Home(tmp_path)
    row = {field.name: [] if pa.types.is_list(field.type) else "" for field in ANSWERS}
    for answer in ("first", "second"):
        rows = pa.Table.from_pylist([row | {"answer": answer}], ANSWERS)
        SourceTables(home).write("answers", ALL_SOURCES, rows, inputs={}, fingerprint="")
    assert gc.remove_unused(home, {}, {"another"}, dry_run=False).table_versions == 0
    assert gc.remove_unused(home, {}, {ALL_SOURCES}, dry_run=False).table_versions == 1
