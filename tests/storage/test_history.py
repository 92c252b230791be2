"""Snapshots through real runs: names, rollback and release, differences, garbage, leases."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import ANSWERS
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage import gc as retention
from lightrag_dagster.storage import history
from lightrag_dagster.storage.gc import collect_garbage
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.leases import Lease, leased
from lightrag_dagster.storage.publication import current_manifest, snapshots
from lightrag_dagster.storage.tables import ALL_SOURCES, SourceTables
from tests.support import FLOOD, RIVER, published, run, snapshot_contents, write_source

READER = """
import sys
from lightrag_dagster import KnowledgeBase

with KnowledgeBase.open(sys.argv[1]) as knowledge:
    print(knowledge.snapshot_id, flush=True)
    sys.stdin.readline()
    print(len(knowledge.retrieve("Who maintains the gauge at Halden Weir?", mode="mix").chunks), flush=True)
"""


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is under way that could still want a version which it wrote a moment ago."""
    monkeypatch.setattr(retention, "SETTLED_SECONDS", 0.0)


def build(settings: Settings, year: int, **more: str | bytes) -> str:
    """Publish a snapshot in which the gauge was built in that year."""
    write_source(settings, "notes", {"river.md": RIVER.replace("2019", str(year)), "flood.txt": FLOOD} | more)
    run(settings)
    return published(settings).snapshot_id


def test_a_rollback_holds_until_release(settings: Settings) -> None:
    home = Home(settings.home)
    first, second = build(settings, 2001), build(settings, 2002)

    assert history.rollback(home, first).snapshot_id == first
    assert (published(settings).snapshot_id, history.held(home)) == (first, first)
    third = build(settings, 2003)

    assert third == first
    assert [one.sequence for one in snapshots(home)] == [1, 2, 3]
    assert run(settings).published is None
    newest = history.release(home).snapshot_id
    assert newest not in (first, second)
    assert (published(settings).snapshot_id, history.held(home)) == (newest, None)
    with pytest.raises(StoreError, match="no snapshot is held"):
        history.release(home)


def test_a_name_opens_a_snapshot_and_keeps_it(settings: Settings) -> None:
    home = Home(settings.home)
    first = build(settings, 2001)
    history.pin(home, "audit", first)
    for year in (2002, 2003, 2004):
        build(settings, year)

    garbage = collect_garbage(home, 1, dry_run=False)

    assert garbage.retained[first] == "named audit"
    assert len(garbage.generations) == 2
    with KnowledgeBase.open(settings.home, "audit", settings=settings) as knowledge:
        assert knowledge.snapshot_id == first
        assert "2001" in knowledge.context("Who built the gauge at Halden Weir?", mode="naive")
    history.pin(home, "audit", None)
    with pytest.raises(StoreError, match="no snapshot audit"):
        KnowledgeBase.open(settings.home, "audit", settings=settings)


@pytest.mark.parametrize("name", ["gen-1", " "])
def test_a_name_is_not_an_id(settings: Settings, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be a name"):
        history.pin(Home(settings.home), name, "gen-x")


def test_two_snapshots_are_compared(settings: Settings) -> None:
    home = Home(settings.home)
    first = build(settings, 2001)
    second = build(settings, 2002, **{"new.txt": "Ulla Berg met Jonas Feld."})

    found = history.difference(home, first, second)

    assert found["documents"] == (["notes/new.txt"], ["notes/river.md"], [])
    assert "Ulla Berg" in found["entities"].added
    assert "2001" in found["entities"].removed
    back = history.difference(home, second, first)
    assert (back["relations"].added, back["relations"].removed) == (
        found["relations"].removed,
        found["relations"].added,
    )
    assert all(not any(each) for each in history.difference(home, first, first).values())


def test_garbage_is_what_nobody_needs(settings: Settings) -> None:
    home = Home(settings.home)
    for year in range(2001, 2007):
        build(settings, year)
    before = snapshot_contents(settings)

    planned = collect_garbage(home, 2, dry_run=True)
    assert len(snapshots(home)) == 6
    done = collect_garbage(home, 2, dry_run=False)

    assert planned.generations == done.generations
    assert len(done.generations) == 4
    assert done.table_versions == planned.table_versions > 10
    assert done.bytes_after < done.bytes_before
    assert [one.sequence for one in snapshots(home)] == [5, 6]
    assert snapshot_contents(settings) == before
    assert collect_garbage(home, 2, dry_run=False).table_versions == 0
    build(settings, 2001)
    assert snapshot_contents(settings)["entities"] != before["entities"]


def test_answers_and_evaluations_that_were_replaced_are_garbage(tmp_path: Path) -> None:
    home = Home(tmp_path)
    tables = SourceTables(home)
    row = {field.name: [] if pa.types.is_list(field.type) else "" for field in ANSWERS}
    for answer in ("first", "second"):
        rows = pa.Table.from_pylist([row | {"answer": answer}], ANSWERS)
        tables.write("answers", ALL_SOURCES, rows, inputs={}, fingerprint="")
    assert collect_garbage(home, 1, dry_run=False).table_versions == 1
    assert tables.read("answers", ALL_SOURCES)["answer"].to_pylist() == ["second"]


def test_a_reader_keeps_its_snapshot(settings: Settings) -> None:
    home = Home(settings.home)
    first = build(settings, 2001)
    command = [sys.executable, "-c", READER, str(settings.home)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as reader:
        assert reader.stdin
        assert reader.stdout
        assert reader.stdout.readline().strip() == first
        for year in (2002, 2003):
            build(settings, year)
        assert collect_garbage(home, 1, dry_run=False).retained[first] == "open in a reader"
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert int(reader.stdout.readline()) > 0
    assert first in collect_garbage(home, 1, dry_run=False).generations
    assert current_manifest(home) == published(settings)


def test_a_lease_ends_with_its_holder(tmp_path: Path) -> None:
    home = Home(tmp_path)
    lease = Lease(home, "gen-1")
    Lease(home, "gen-2").release()
    assert leased(home) == {"gen-1"}
    lease.release()
    lease.release()
    assert leased(home) == set()
    (home.leases / "gen-3.dead").touch()
    assert leased(home) == set()
    assert list(home.leases.iterdir()) == []
