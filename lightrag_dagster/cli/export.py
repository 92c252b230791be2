"""`export`: the published snapshot for other programs."""

from pathlib import Path

from rich.console import Console

from lightrag_dagster.core.export_formats import ExportFormat
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.exports.exports import export_published, export_to
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots.exported import place_of
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.records import Export
from lightrag_dagster.storage.snapshots.snapshots import named_snapshot, require_current

_MEGABYTE = 1_000_000


def export(console: Console, form: ExportFormat, folder: Path | None, snapshot: str | None) -> None:
    """Write a snapshot in one format into a folder; without one, the published snapshot into the home.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: there is no such snapshot, or the folder is there or in the home, or the disk refuses.
    """
    home = Home.of(load_settings())
    refuse_place_in_home(home, folder)
    refresh(home)
    manifest = named_snapshot(home, snapshot) if snapshot else require_current(home)
    if folder is None:
        exports = export_published(home, [form])
        generation, written = exports.snapshot_id, exports.formats[form]
        place = place_of(home, generation, form)
    else:
        generation, place = manifest.snapshot_id, str(folder)
        written = export_to(Generation(home, manifest.snapshot_id), form, folder)
    _print(console, generation, place, written)


def refuse_place_in_home(home: Home, place: Path | None) -> None:
    """Check that a file or folder to be written is not in the home; raises StoreError."""
    if place and home.holds(place):
        raise StoreError(
            f"{place} is in the home, which keeps exports in a folder of its own; name no place, or one elsewhere"
        )


def _print(console: Console, snapshot: str, place: str, written: Export) -> None:
    console.print(f"{snapshot} is in {place}, {written.bytes / _MEGABYTE:,.1f} MB.", soft_wrap=True)
    for name, rows in written.rows.items():
        console.print(f"  {name}: {rows:,} rows", soft_wrap=True)
    for note in written.notes:
        console.print(f"note: {note}", soft_wrap=True)
