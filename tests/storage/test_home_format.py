"""The format and the layout of a home, and who refuses another."""

import errno
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import FORMAT, Format, refresh
from lightrag_dagster.storage.layout import layout
from lightrag_dagster.storage.locking import building, ingesting
from lightrag_dagster.storage.records import Pointer
from lightrag_dagster.storage.snapshots.snapshots import refresh_snapshot
from lightrag_dagster.storage.take_over import take_over
from tests.buckets import S3Server

OTHER = "has the layout of another version of this package; `lightrag-dagster run` takes it over"


def format_of(home: Home) -> Format:
    """Return the format of a home, which has an id as well."""
    record = Format.model_validate_json(home.format.read_text())
    assert record.id
    return record


def older(home: Home) -> Home:
    """Make a home look like one that another version of this package wrote."""
    atomic.write_text(home.published, Pointer(id="gen-1").model_dump_json())
    atomic.write_text(home.format, Format(format=1, layout="another", id="home").model_dump_json())
    return home


def test_the_first_builder_of_a_new_home_writes_the_format(any_home: Home) -> None:
    refresh_snapshot(any_home)
    with building(any_home, 0):
        assert (format_of(any_home).format, format_of(any_home).layout) == (FORMAT, layout())
    before = any_home.format.stat()
    with building(any_home, 0):
        assert any_home.format.stat() == before


def test_an_ingestion_that_comes_first_writes_the_format_too(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with ingesting(home, "notes", 0):
        assert home_format.is_todays(format_of(home))


def test_a_new_home_is_not_taken_over(tmp_path: Path) -> None:
    assert take_over(Home(tmp_path / "home"), 0) == []
    assert not (tmp_path / "home").exists()


def test_a_home_without_a_format_is_of_another_layout(tmp_path: Path) -> None:
    home = older(Home(tmp_path))
    home.format.unlink()
    with pytest.raises(StoreError, match=OTHER):
        refresh(home)
    take_over(home, 0)
    assert home_format.is_todays(format_of(home))


def test_another_layout_is_refused_by_all_until_it_is_taken_over(tmp_path: Path) -> None:
    home = older(Home(tmp_path))
    with pytest.raises(StoreError, match=f"{re.escape(home.name)} {OTHER}"):
        KnowledgeBase.open(tmp_path)
    with pytest.raises(StoreError, match=OTHER), building(home, 0):
        pytest.fail("nothing may be built")
    with pytest.raises(StoreError, match=OTHER), ingesting(home, "notes", 0):
        pytest.fail("nothing may be ingested")
    take_over(home, 0)
    with building(home, 0), ingesting(home, "notes", 0):
        assert format_of(home).id == "home"
    assert not home.published.exists(), "nothing reads the snapshot"


def test_a_newer_home_is_refused_with_what_to_do_before_anything_is_read_or_written(tmp_path: Path) -> None:
    home = older(Home(tmp_path))
    atomic.write_text(home.format, '{"format": 7, "something": "of a later version"}')
    before = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    said = f"{re.escape(home.name)} has format 7, and this package reads formats up to {FORMAT}; upgrade"
    with pytest.raises(StoreError, match=said):
        KnowledgeBase.open(tmp_path)
    with pytest.raises(StoreError, match=said), building(home, 0):
        pytest.fail("nothing may be built")
    with pytest.raises(StoreError, match=said), ingesting(home, "notes", 0):
        pytest.fail("nothing may be ingested")
    with pytest.raises(StoreError, match=said):
        take_over(home, 0)
    after = {path.name for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert after == set(before)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("{")
    with pytest.raises(StoreError, match=r"FORMAT is damaged; put it back from a backup .* removes all snapshots"):
        refresh_snapshot(Home(tmp_path))


def test_a_backup_is_no_home_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "FORMAT").write_text("{}")
    with pytest.raises(StoreError, match=f"is a backup; `lightrag-dagster --home PLACE restore {tmp_path}`"):
        refresh_snapshot(Home(tmp_path))


def test_a_record_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.format.symlink_to(home.format)
    said = f"{re.escape(str(home.format))} cannot be read: {os.strerror(errno.ELOOP)}; let this user read it"
    with pytest.raises(StoreError, match=said) as refused:
        refresh_snapshot(home)
    assert "delete" not in str(refused.value)


def test_in_a_bucket_it_is_a_record_that_every_machine_sees(
    buckets: S3Server, postgres: SecretStr, tmp_path: Path
) -> None:
    uri = buckets.new_bucket()
    one, other = (Home(tmp_path / name, postgres, uri, 1e9) for name in ("one", "other"))
    with building(one, 0):
        refresh(other)
        assert home_format.is_todays(format_of(other))
        atomic.write_text(one.published, Pointer(id="gen-1").model_dump_json())
    buckets.requests.clear()
    refresh_snapshot(other)
    assert buckets.requests == {"GET": 5}  # FORMAT, PUBLISHED, pins.json, and the two records of the generation
    with building(one, 0):
        older(one)
    for read in (refresh_snapshot, refresh):
        with pytest.raises(StoreError, match=f"{uri} {OTHER}"):
            read(other)
    take_over(other, 0)
    refresh(one)
    assert home_format.is_todays(format_of(one))
    assert not one.published.exists()


def test_a_database_is_that_of_one_home_also_when_it_moves_or_begins_anew(tmp_path: Path, postgres: SecretStr) -> None:
    home, other, moved = (Home(tmp_path / name, postgres) for name in ("home", "other", "moved"))
    with building(home, 0):
        pass
    said = rf"is the database of the home \S+:{home.name}; give \S+:{other.name} a database, or a schema, of its own"
    for entered in (building(other, 0), ingesting(other, "notes", 0)):
        with pytest.raises(StoreError, match=said), entered:
            pass
    assert not other.format.exists()
    home.root.rename(moved.root)
    with building(moved, 0):
        pass
    moved.format.unlink()  # as a message says of a damaged one
    with building(moved, 0):
        pass
    for entered in (building(Home(moved.root), 0), ingesting(Home(moved.root), "notes", 0)):
        with pytest.raises(StoreError, match=f"{moved.name} has a Postgres database; set LIGHTRAG_DATABASE"), entered:
            pass
    below = replace(moved, root=moved.root / "scopes" / "board", scope="board", parent=moved)
    with building(below, 0), pytest.raises(StoreError, match=moved.name), building(other, 0):
        pass
