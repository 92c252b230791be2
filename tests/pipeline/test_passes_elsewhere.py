"""Passes of a home that comes back from a backup, is of another layout, or lies in a bucket."""

from collections import Counter
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.indexes.sql import unpublished_tables
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.repair import repair_published
from lightrag_dagster.storage.snapshots.verify import find_damage
from lightrag_dagster.storage.take_over import take_over
from tests.buckets import S3Server
from tests.layouts import as_another_layout
from tests.loopback import Loopback
from tests.passes import EVENTS, WORKS, model_settings, with_passes
from tests.pipeline.test_passes import asked, facts
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

FACTS = {"works maintains": 1, "works leads": 1, "events closed": 1, "events opened": 1}


@pytest.fixture
def reading(tmp_path: Path, loopback: Loopback) -> Settings:
    """Settings with two passes, of a home that is not built."""
    settings = model_settings(tmp_path, loopback)
    write_source(settings, "notes", {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    return with_passes(settings, tmp_path / "readings", works=WORKS, events=EVENTS)


@pytest.mark.long
def test_a_backup_has_what_passes_read(reading: Settings, tmp_path: Path, loopback: Loopback) -> None:
    build(reading)
    back_up(Home.of(reading), str(tmp_path / "backup"), 0)
    restored = reading.changed(home=tmp_path / "restored")
    restore(str(tmp_path / "backup"), Home.of(restored), 0)
    loopback.requests.clear()
    assert build(restored).published is None
    assert (asked(loopback), facts(restored)) == (Counter(), FACTS)
    assert find_damage(Home.of(restored), published(restored).snapshot_id, verify=True) == []


@pytest.mark.long
def test_a_home_of_another_layout_keeps_what_passes_read(reading: Settings, loopback: Loopback) -> None:
    build(reading)
    home = Home.of(reading)
    home.responses.unlink()  # type: ignore[union-attr]
    as_another_layout(home)
    take_over(home)
    loopback.requests.clear()
    build(reading)
    assert (asked(loopback), facts(reading)) == (Counter(), FACTS)


@pytest.mark.long
@pytest.mark.parametrize("table", ["readings@works", "facts@works", "read_facts@events"])
def test_a_damaged_file_of_a_pass_is_found_and_made_again(reading: Settings, loopback: Loopback, table: str) -> None:
    build(reading)
    home, snapshot = Home.of(reading), published(reading).snapshot_id
    (file,) = (home.root / "tables" / table / "notes").glob("*.parquet")
    file.write_bytes(b"damaged")
    assert [one.path for one in find_damage(home, snapshot)] == [file]
    loopback.requests.clear()
    with building(home, 0) as lock:
        repair_published(home, {"notes"}, lock=lock)
    build(reading)
    assert (asked(loopback), facts(reading), published(reading).snapshot_id) == (Counter(), FACTS, snapshot)


@pytest.mark.long
def test_another_machine_goes_on_with_passes_in_a_bucket(
    reading: Settings, buckets: S3Server, postgres: SecretStr, tmp_path: Path, loopback: Loopback
) -> None:
    first = reading.changed(home=Path(buckets.new_bucket()), database=postgres, cache={"folder": tmp_path / "first"})
    build(first)
    other = first.changed(cache={"folder": tmp_path / "other"})
    loopback.requests.clear()
    assert build(other).published is None
    assert (asked(loopback), facts(other)) == (Counter(), FACTS)
    assert {"readings", "facts", "read_facts"} <= unpublished_tables(Home.of(other)).keys()
    write_source(
        other,
        "notes",
        {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE, "new.txt": "Mara Quill left Dunsrow."},
    )
    build(other)
    assert (asked(loopback), facts(other)) == (Counter(extract=1, maintains=1, closed=1), FACTS)
