"""Which files are opened when a source is read again, and that its tables are as if all had been."""

import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline import recipes as recipe_module
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.readers import formats
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents import reading
from lightrag_dagster.stages.documents.connectors import folder
from lightrag_dagster.stages.documents.connectors.origin import ListedFile
from lightrag_dagster.stages.documents.raw_documents import Slow, read_documents
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.support import FLOOD, OFFICE, RIVER, write_source

FILES: dict[str, str | bytes] = {
    "river.md": RIVER,
    "copies/river.md": RIVER,
    "flood.txt": FLOOD,
    "office.txt": OFFICE,
    "broken.txt": b"\xc3\x28",
    "empty.txt": "",
    "picture.png": b"png",
}
_watched: list[Path] = []
_opened: list[str] = []
_way = threading.local()


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    """Note a file that is opened, also by its name below a folder that was opened before, as files of a source are."""
    if event != "open" or not _watched or not isinstance(name := arguments[0], str):
        return
    flags = int(str(arguments[2]))
    path = Path(getattr(_way, "folder", "/") if flags & os.O_NOFOLLOW else "/", name)
    if flags & os.O_DIRECTORY and flags & os.O_NOFOLLOW:
        _way.folder = path
    elif path.is_relative_to(_watched[0]):
        _opened.append(str(path.relative_to(_watched[0])))


sys.addaudithook(_hook)  # cannot be taken away again; without a watched folder it does nothing


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of a source whose files have a stable stamp at once."""
    monkeypatch.setattr(folder, "STABLE_AFTER", 0.0)
    made = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", documents={"accept_deletes": True})
    write_source(made, "notes", FILES)
    return made


@pytest.fixture(autouse=True)
def _rows_a_shard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shards, "ROWS", shards.ROWS)
    yield
    _watched.clear()


def read(settings: Settings, *, backfill: bool = False) -> set[str]:
    """Read the source, and return the files that were opened."""
    _watched[:], _opened[:] = [settings.sources / "notes"], []
    tables = SourceTables(Home(settings.home), candidate=backfill)
    read_source(find_source(settings, "notes"), tables, Recipes.of(settings))
    return set(_opened)


def contents(settings: Settings) -> list[dict[str, object]]:
    rows = SourceTables(Home(settings.home)).read("raw_documents", "notes").drop_columns("modified_at")
    found: list[dict[str, object]] = rows.to_pylist()
    return found


def as_clean(settings: Settings) -> bool:
    """Say whether the documents are those of a clean build."""
    clean = settings.changed(home=settings.home.with_name("clean"))
    shutil.rmtree(clean.home, ignore_errors=True)
    read(clean)
    return contents(settings) == contents(clean)


READABLE = set(FILES) - {"picture.png"}


def test_damaged_stamps_are_named_and_made_again_once_they_are_removed(settings: Settings) -> None:
    opened = read(settings)
    rows = SourceTables(Home(settings.home)).read("raw_documents", "notes")
    assert read(settings) == {"broken.txt"}
    (stamps,) = settings.home.glob("tables/stamps/notes/*.parquet")
    whole = stamps.read_bytes()
    stamps.chmod(0o644)
    stamps.write_bytes(whole[:10])
    with pytest.raises(StoreError, match=f"{stamps} is damaged; .*; delete it and run again"):
        read(settings)
    stamps.unlink()
    assert read(settings) == opened
    assert SourceTables(Home(settings.home)).read("raw_documents", "notes") == rows
    assert stamps.read_bytes() == whole
    assert read(settings) == {"broken.txt"}


def test_only_what_changed_is_opened(settings: Settings) -> None:
    assert read(settings) == READABLE
    assert read(settings) == {"broken.txt"}  # what failed may succeed another time

    write_source(settings, "notes", FILES | {"flood.txt": "Priya Nair left.", "new.txt": "Ulla Berg came."})
    assert read(settings) == {"broken.txt", "flood.txt", "new.txt"}
    assert as_clean(settings)


@pytest.mark.parametrize("rows", [8192, pytest.param(2, marks=pytest.mark.long)])
def test_a_report_counts_the_documents_that_were_not_opened(settings: Settings, rows: int) -> None:
    shards.ROWS = rows
    tables, source = SourceTables(Home(settings.home)), find_source(settings, "notes")
    assert read_source(source, tables, Recipes.of(settings)).kept == 0
    assert read_source(source, tables, Recipes.of(settings)).kept == len(READABLE - {"broken.txt"})


@pytest.mark.parametrize("gone", ["river.md", "copies/river.md"])
def test_a_copy_becomes_an_original_without_being_read(settings: Settings, gone: str) -> None:
    read(settings)
    write_source(settings, "notes", {name: text for name, text in FILES.items() if name != gone})
    assert read(settings) == {"broken.txt"}
    assert as_clean(settings)
    assert "duplicate" not in {row["status"] for row in contents(settings)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after"), [(8192, 1), *(pytest.param(*rows, marks=pytest.mark.long) for rows in ((1, 8192), (2, 1)))]
)
def test_another_number_of_shards_opens_nothing(settings: Settings, before: int, after: int) -> None:
    shards.ROWS = before
    read(settings)
    shards.ROWS = after
    (settings.sources / "notes" / "river.md").unlink()
    assert read(settings) == {"broken.txt"}
    assert as_clean(settings)


def test_a_touched_file_is_read_but_not_parsed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    read(settings)
    before = SourceTables(Home(settings.home)).require("raw_documents", "notes").version
    os.utime(settings.sources / "notes" / "flood.txt", (1_000_000_000, 1_000_000_000))
    parsed: list[str] = []

    def noted(
        source: str, files: Iterable[tuple[ListedFile, bytes | OSError]], *rest: Any
    ) -> tuple[pa.Table, list[Slow]]:
        read = list(files)
        parsed.extend(listed.path for listed, _ in read)
        return read_documents(source, read, *rest)

    monkeypatch.setattr(reading, "read_documents", noted)
    assert read(settings) == {"broken.txt", "flood.txt"}
    assert parsed == ["broken.txt", "picture.png"]
    assert SourceTables(Home(settings.home)).require("raw_documents", "notes").version == before
    assert read(settings) == {"broken.txt"}


def test_a_file_that_changed_just_before_it_was_read_is_read_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "STABLE_AFTER", 3600.0)
    assert read(settings) == READABLE
    assert read(settings) == READABLE


@pytest.mark.long
def test_other_code_a_backfill_and_lost_stamps_read_all(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    read(settings)
    assert read(settings, backfill=True) == READABLE
    assert read(settings) == {"broken.txt"}
    assert read(settings.changed(documents={"max_bytes": 1000})) == READABLE
    assert read(settings.changed(documents={"recognise_text": True})) == set(FILES)
    monkeypatch.setitem(recipe_module._REVISIONS, "raw_documents", 1000)
    assert read(settings) == READABLE
    monkeypatch.setattr(formats, "_version", lambda library: f"another {library}")
    assert read(settings) == READABLE
    for path in SourceTables(Home(settings.home)).home.source_table("stamps", "notes").glob("*.parquet"):
        path.unlink()
    assert read(settings) == READABLE


def test_stamps_are_removed_with_their_documents(settings: Settings) -> None:
    home = Home(settings.home)
    for number in range(3):
        write_source(settings, "notes", FILES | {"new.txt": f"Report {number}."})
        read(settings)
    stamps = home.source_table("stamps", "notes")
    assert len(list(stamps.glob("*.parquet"))) == 3
    collect_garbage(home, settings.retention, dry_run=False)
    assert len(list(stamps.glob("*.parquet"))) == 1
    assert read(settings) == {"broken.txt"}
