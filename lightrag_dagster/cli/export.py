"""`export`: the published snapshot for other programs."""

from pathlib import Path

from rich.console import Console

from lightrag_dagster.cli.terminal import megabytes
from lightrag_dagster.core.export_formats import ExportFormat
from lightrag_dagster.errors import StoreError
from lightrag_dagster.exports.exports import export_published, export_to
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.manifests import Export
from lightrag_dagster.storage.snapshots.exported import place_of
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import named_snapshot, require_current


def export(console: Console, form: ExportFormat, place: Path | None, snapshot: str | None) -> None:
    """Write a snapshot in one format into a folder or file; without one, the published snapshot into the home.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: there is no such snapshot, or the place is there or in the home, or the disk refuses.
    """
    home = Home.of(load_settings())
    refuse_place_in_home(home, place)
    refresh(home)
    generation = Generation(home, (named_snapshot(home, snapshot) if snapshot else require_current(home)).snapshot_id)
    if place:
        _print(console, generation.id, str(place), export_to(generation, form, place))
    else:
        exports = export_published(home, [form])
        kept = place_of(home, exports.snapshot_id, form)
        _print(console, exports.snapshot_id, kept, exports.formats[form])


def refuse_place_in_home(home: Home, place: Path | None) -> None:
    """Check that a file or folder to be written is not in the home; raises StoreError."""
    if place and home.holds(place):
        raise StoreError(
            f"{place} is in the home, which keeps exports in a folder of its own; name no place, or one elsewhere"
        )


def _print(console: Console, snapshot: str, place: str, written: Export) -> None:
    console.print(f"{snapshot} is in {place}, {megabytes(written.bytes)}.", soft_wrap=True)
    for name, rows in written.rows.items():
        console.print(f"  {name}: {rows:,} rows", soft_wrap=True)
    for note in written.notes:
        console.print(f"note: {note}", soft_wrap=True)
