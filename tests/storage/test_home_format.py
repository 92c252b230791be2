"""The format of a home, with migrations as a later version of this package would have them."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import OlderFormatError, StoreError
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import Format, newest, refresh
from lightrag_dagster.storage.locking import building, ingesting
from lightrag_dagster.storage.records import Pointer
from lightrag_dagster.storage.snapshots.snapshots import refresh_snapshot
from tests.buckets import S3Server
from tests.support import run


def rename_pointer(home: Home) -> None:
    """Add to the pointer, as a migration might; a second time changes nothing."""
    pointer = Pointer.model_validate_json(home.current.read_bytes())
    atomic.write_text(home.current, Pointer(id=pointer.id.removesuffix(" moved") + " moved").model_dump_json())


def number(home: Home) -> int:
    """Return the format of a home, whose record has an id as well."""
    record = Format.model_validate_json(home.format.read_text())
    assert record.id
    return record.format


def older(home: Home) -> Home:
    """Make a home look like one of a version of this package that knew no formats."""
    atomic.write_text(home.current, Pointer(id="gen-1").model_dump_json())
    return home


def test_the_first_builder_of_a_new_home_writes_the_format(any_home: Home) -> None:
    refresh_snapshot(any_home)
    with building(any_home, 0):
        assert number(any_home) == newest()
    before = any_home.format.stat()
    with building(any_home, 0):
        assert any_home.format.stat() == before


def test_a_new_home_needs_no_migration(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home_format.require_readable(home, {2: rename_pointer})
    with building(home, 0, {2: rename_pointer}):
        assert number(home) == 2


def test_an_ingestion_that_comes_first_writes_the_format_too(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with ingesting(home, "notes", 0):
        assert number(home) == newest()


def test_a_home_from_before_formats_is_read_and_gets_the_record_from_the_next_builder(tmp_path: Path) -> None:
    home = older(Home(tmp_path))
    refresh_snapshot(home)
    with ingesting(home, "notes", 0):
        assert not home.format.exists()
    with building(home, 0):
        assert number(home) == newest()


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    home, done = older(Home(tmp_path)), list[str]()

    def note(what: str) -> Callable[[Home], None]:
        return lambda migrated: done.append(f"{what} of {migrated.root.name}")

    two = {2: note("second"), 3: note("third")}
    with pytest.raises(OlderFormatError, match="has format 1, and this package reads format 3; `lightrag-dagster run`"):
        home_format.require_readable(home, two)
    for migrations in (two, two, two | {4: note("fourth")}):
        with building(home, 0, migrations), building(home, 0, migrations):
            home_format.require_readable(home, migrations)
    assert done == [f"{number} of {tmp_path.name}" for number in ("second", "third", "fourth")]
    assert number(home) == 4


def test_a_home_that_needs_no_work_is_read_as_it_is_until_a_builder_numbers_it(tmp_path: Path) -> None:
    home, same = older(Home(tmp_path)), {2: None, 3: None}
    home_format.require_readable(home, same)
    assert not home.format.exists()
    with building(home, 0, same):
        assert number(home) == 3
    with pytest.raises(StoreError, match="has format 3, and this package reads formats up to 1"):
        home_format.require_readable(home, {})
    with pytest.raises(OlderFormatError):
        home_format.require_readable(home, {**same, 4: rename_pointer, 5: None})


def test_a_migration_that_was_interrupted_is_run_again(tmp_path: Path) -> None:
    home = older(Home(tmp_path))

    def interrupted(migrated: Home) -> None:
        rename_pointer(migrated)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), building(home, 0, {2: interrupted}):
        pytest.fail("nothing may be built")
    with building(home, 0, {2: rename_pointer}):
        assert Pointer.model_validate_json(home.current.read_bytes()).id == "gen-1 moved"


def test_a_newer_home_is_refused_with_what_to_do_before_anything_is_read_or_written(tmp_path: Path) -> None:
    home = older(Home(tmp_path))
    atomic.write_text(home.format, '{"format": 7, "something": "of a later version"}')
    before = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    said = f"{re.escape(home.name)} has format 7, and this package reads formats up to {newest()}; upgrade"
    with pytest.raises(StoreError, match=said):
        KnowledgeBase.open(tmp_path)
    with pytest.raises(StoreError, match=said), building(home, 0):
        pytest.fail("nothing may be built")
    with pytest.raises(StoreError, match=said), ingesting(home, "notes", 0):
        pytest.fail("nothing may be ingested")
    after = {path.name for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert after == set(before)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("{")
    with pytest.raises(StoreError, match="FORMAT is damaged; delete it"):
        refresh_snapshot(Home(tmp_path))


def test_in_a_bucket_it_is_a_record_that_every_machine_sees(
    buckets: S3Server, postgres: SecretStr, tmp_path: Path
) -> None:
    uri = buckets.new_bucket()
    one, other = (Home(tmp_path / name, postgres, uri, 1e9) for name in ("one", "other"))
    with building(one, 0):
        refresh(other)
        assert number(other) == newest()
        older(one)
    buckets.requests.clear()
    refresh_snapshot(other)
    assert buckets.requests == {"GET": 5}  # FORMAT, CURRENT, pins.json, and the two records of the generation
    with building(other, 0, {newest() + 1: rename_pointer}):
        one.files.take_over([one.current, one.format])
        assert Pointer.model_validate_json(one.current.read_bytes()).id == "gen-1 moved"
    for read in (refresh_snapshot, lambda home: refresh(home)):
        with pytest.raises(
            StoreError, match=f"{uri} has format {newest() + 1}, and this package reads formats up to {newest()}"
        ):
            read(one)


def test_a_run_brings_a_home_forward_and_other_commands_say_so(
    published_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = shutil.copytree(published_home, tmp_path / "home")
    settings, done = load_settings(home=home, sources=published_home.parent / "sources"), list[Home]()
    monkeypatch.setitem(home_format.MIGRATIONS, newest() + 1, done.append)
    with pytest.raises(OlderFormatError):
        pending(settings)
    assert run(settings).published is None
    assert done == [Home.of(settings)]
    assert pending(settings).publish is None
