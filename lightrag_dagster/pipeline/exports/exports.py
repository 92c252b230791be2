"""Exports of the published snapshot, which lie in its folder: they go when it goes.

exports/latest                        link to those of the published snapshot; not of a bucket
generations/<id>/exports/<format>/    the files of a format, put in place whole
generations/<id>/exports.json         what each has, written last
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import duckdb
from pydantic import Field

from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.pipeline.exports.graphml import write_graphml
from lightrag_dagster.pipeline.exports.neo4j import write_neo4j
from lightrag_dagster.pipeline.exports.tables import write_tables
from lightrag_dagster.pipeline.exports.written import Written
from lightrag_dagster.settings import ExportFormat
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.locks import building
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.records import MADE_AGAIN, Record, read_record
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, require_current

_LOCK_SECONDS = 60.0
_FOLDER, _RECORD = "exports", "exports.json"
_WRITERS: Mapping[ExportFormat, Callable[[Generation, Path], Written]] = {
    "tables": write_tables,
    "graphml": write_graphml,
    "neo4j": write_neo4j,
}


class Exported(Record):
    """An export of one format."""

    rows: dict[str, int] = Field(description="File → rows")
    bytes: int
    notes: list[str] = Field(description="What the format cannot hold")


class Exports(Record):
    """`exports.json`: the exports of a snapshot."""

    mended_by = MADE_AGAIN

    formats: dict[str, Exported] = {}


def export_to(generation: Generation, form: ExportFormat, folder: Path) -> Exported:
    """Write a snapshot in one format into a folder that is not there yet, or empty; it is then there whole.

    Raises:
        StoreError: the folder has files, a table is missing or damaged, or the disk refuses.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreError(f"{folder} is not empty; name a folder that is not there yet")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
            made = Path(scratch) / folder.name
            made.mkdir()
            written = _WRITERS[form](generation, made)
            rows = {path.name: count for path, count in written.rows.items()}
            found = Exported(rows=rows, bytes=written.bytes, notes=list(written.notes))
            atomic.sync_tree(made)
            if folder.is_dir():
                folder.rmdir()
            made.rename(folder)
            atomic.sync(folder.parent)
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"{folder} cannot be written: {one_line(error)}; run again") from error
    return found


def export_published(home: Home, formats: Sequence[ExportFormat]) -> tuple[str, Exports]:
    """Write the published snapshot in some formats into the home, unless it is there; return its id and all of them.

    Exports of earlier snapshots go.

    Raises:
        NoSnapshotError: nothing is published yet.
        BuilderLockedError: another process builds.
        StoreError: as `export_to`.
    """
    with building(home, _LOCK_SECONDS):
        generation = Generation(home, require_current(home).snapshot_id)
        known = read_record(generation.path(_RECORD), Exports) or Exports()
        for form in formats:
            folder = generation.path(f"{_FOLDER}/{form}")
            if form not in known.formats or not (home.bucket or folder.is_dir()):
                shutil.rmtree(folder, ignore_errors=True)
                known = Exports(formats=known.formats | {form: export_to(generation, form, folder)})
                home.files.keep([folder])
        generation.write_record(_RECORD, known)
        home.files.push()
        _link_latest(home, generation)
        for manifest in list_snapshots(home):
            other = Generation(home, manifest.snapshot_id)
            if other.id != generation.id and other.path(_RECORD).exists():
                other.path(_RECORD).unlink()
                home.files.push()
                home.files.remove_folder(other.path(_FOLDER))
    return generation.id, known


def exports_of(generation: Generation) -> Exports:
    """Return the exports of a snapshot; raises StoreError when the record is damaged."""
    return read_record(generation.path(_RECORD), Exports) or Exports()


def _link_latest(home: Home, generation: Generation) -> None:
    """Let `exports/latest` be the exports of a snapshot, at once; where a disk has no links, there is none."""
    if home.bucket:
        return
    latest = home.root / _FOLDER / "latest"
    temporary = latest.with_name(f".latest.{uuid4().hex}")
    with suppress(OSError):
        latest.parent.mkdir(exist_ok=True)
        temporary.symlink_to(Path("..") / generation.path(_FOLDER).relative_to(home.root))
        temporary.replace(latest)
