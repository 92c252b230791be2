"""Exports: a snapshot in one format in a folder of the user, or the published one in the home, kept once."""

import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from os.path import lexists
from pathlib import Path
from typing import NamedTuple

import duckdb

from lightrag_dagster.core.export_formats import EXPORT_REVISION
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.exports.graphml import write_facts, write_graphml
from lightrag_dagster.exports.neo4j import write_neo4j
from lightrag_dagster.exports.okf import write_okf
from lightrag_dagster.exports.tables import write_tables
from lightrag_dagster.exports.written import Written
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import Export, Exports
from lightrag_dagster.storage.records import write_record
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.exported import LATEST, exported_snapshots, forget_exports, read_exports
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.readers import mark_read
from lightrag_dagster.storage.snapshots.snapshots import require_published

_log = logging.getLogger(__name__)


class Writer(NamedTuple):
    """A writer of a format, into an empty folder, and the revision of its code."""

    write: Callable[[Generation, Path], Written]
    recipe: str


Writers = Mapping[str, Writer]

WRITERS: Writers = {
    "tables": Writer(write_tables, EXPORT_REVISION),
    "graphml": Writer(write_graphml, EXPORT_REVISION),
    "facts": Writer(write_facts, EXPORT_REVISION),
    "neo4j": Writer(write_neo4j, EXPORT_REVISION),
    "okf": Writer(write_okf, EXPORT_REVISION),
}
"""The writer of each format; higher floors have others."""


def export_to(generation: Generation, form: str, place: Path) -> Export:
    """Write a snapshot in one format: into a new folder, or, if the format has one file, as a new file.

    It is there when it is whole.

    Raises:
        StoreError: the place is there already, a table is missing or damaged, or the disk refuses.
    """
    return _export(generation, WRITERS[form], place.expanduser().absolute(), one_as_file=form in {"graphml", "facts"})


def _export(generation: Generation, writer: Writer, place: Path, *, one_as_file: bool) -> Export:
    """Write a snapshot into a new folder, or, if `one_as_file`, its file without the folder; raises as `export_to`."""
    if lexists(place):
        raise StoreError(f"{place} is there already; name a file or folder that is not there yet")
    mark = mark_read(generation.home, generation.id)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (
            closing(mark) if mark else nullcontext(),
            tempfile.TemporaryDirectory(dir=place.parent, prefix=".export.") as scratch,
        ):
            made = Path(scratch) / "made"
            made.mkdir()
            written = writer.write(generation, made)
            one = next(made.iterdir()) if one_as_file else None
            rows = {place.name if one else name: rows for name, rows in written.rows.items()}
            about = {"rows": rows, "bytes": _bytes_of(made), "recipe": writer.recipe}
            found = Export.model_validate(vars(written) | about)
            atomic.sync_tree(made)
            (one or made).rename(place)
            atomic.sync(place.parent)
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"{place} cannot be written: {one_line(error)}; nothing was exported") from error
    return found


def export_published(home: Home, formats: Sequence[str], writers: Writers = WRITERS) -> Exports:
    """Write the published snapshot in some formats into the home, unless it is there; return all that there are of it.

    Then the index and `exports/latest` change to them, and exports of other snapshots go.

    Raises:
        NoSnapshotError: nothing is published yet.
        BuilderLockedError: another process builds.
        StoreError: as `export_to`, or the index is damaged.
    """
    with building(home, STEP_SECONDS):
        generation = CheckedGeneration.of(home, require_published(home).snapshot_id)
        index, folder = read_exports(home), home.exports / generation.id
        known = dict(index.formats) if index and index.snapshot_id == generation.id else {}
        _remove_leftovers(home, folder)
        for form in formats:
            if not _is_there(home, folder / form, known.get(form), writers[form].recipe):
                home.files.remove_folder(folder / form)
                known[form] = _export(generation, writers[form], folder / form, one_as_file=False)
                home.files.keep([folder / form])
        if home.bucket:
            shutil.rmtree(folder, ignore_errors=True)  # the bucket has it, and nothing here reads it
        exports = Exports(snapshot_id=generation.id, formats=known)
        write_record(home.exported, exports)
        home.files.push()
        latest = home.exports / LATEST
        if not home.bucket and (error := atomic.link(latest, Path(generation.id))):
            _log.warning("%s is not linked to the exports of %s: %s", latest, generation.id, error)
        others = exported_snapshots(home) - {generation.id}
        forget_exports(home, others)
        for other in others:
            home.files.remove_folder(home.exports / other)
    return exports


def _is_there(home: Home, folder: Path, known: Export | None, recipe: str) -> bool:
    """Say whether an export is there as it was written by this version; a bucket's index is believed."""
    if known is None or known.recipe != recipe:
        return False
    return home.bucket is not None or _bytes_of(folder) == known.bytes


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _remove_leftovers(home: Home, folder: Path) -> None:
    """Remove what killed exports left of the snapshot."""
    for leftover in [*folder.glob(".*"), *home.exports.glob(".*")]:
        atomic.remove(leftover)
