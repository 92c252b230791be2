"""`export` and `report`: a snapshot for other programs, and as a page to look at; into the home or a place."""

from collections.abc import Iterable
from pathlib import Path

from rich import filesize
from rich.console import Console

from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.export_formats import ExportFormat
from lightrag_dagster.errors import StoreError
from lightrag_dagster.exports.exports import export_published, export_to
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.report import published_report, write_report_to
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home, bucket_uri
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.exported import place_of
from lightrag_dagster.storage.snapshots.snapshots import require_published, snapshot_named


def export(console: Console, form: ExportFormat, place: Path | None, snapshot: str | None) -> None:
    """Write a snapshot in one format into a folder or file; without one, the published snapshot into the home.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: there is no such snapshot.
        StoreError: the place is there or in the home, or the disk refuses.
    """
    home = Home.of(load_settings())
    _refuse_place_in_home(home, place)
    refresh(home)
    wanted = require_published(home) if snapshot is None else snapshot_named(home, snapshot)
    generation = CheckedGeneration.of(home, wanted.snapshot_id)
    if place:
        made, name, kept = export_to(generation, form, place), generation.id, str(place)
    else:
        exports = export_published(home, [form])
        made, name = exports.formats[form], exports.snapshot_id
        kept = place_of(home, name, form)
    rows = (f"{table}: {count:,} rows" for table, count in made.rows.items())
    _print(console, name, kept, made.bytes, rows, made.notes)


def report(console: Console, file: Path | None, filters: Filters, snapshot: str | None, *, as_json: bool) -> None:
    """Write the page into a new file; without one, that of the published snapshot into the home.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: a source, media type or language of the filter does not exist.
        QueryError: there is no such snapshot.
        StoreError: the file is there already or in the home, or the disk refuses.
    """
    home = Home.of(load_settings())
    _refuse_place_in_home(home, file)
    refresh(home)
    made = published_report(home) if file is None else write_report_to(home, file, filters, snapshot)
    if as_json:
        print_json(made._asdict())
        return
    listed = (
        f"{made.figures[f'listed_{what}']:,} of {made.figures[what]:,} {what}" for what in ("entities", "relations")
    )
    contents = f"{', '.join(listed)}, {made.figures['quotes']:,} quotes"
    _print(console, made.snapshot_id, made.place, made.bytes, [contents], made.notes)


def _refuse_place_in_home(home: Home, place: Path | None) -> None:
    """Check that a file or folder to be written is on a disk, and not in the home; raises StoreError."""
    if place and (uri := bucket_uri(place)):
        raise StoreError(f"{uri} is in a bucket, where only a home writes; name a place on this machine, and copy it")
    if place and (home.parent or home).holds(place):
        raise StoreError(
            f"{place} is in the home, which keeps exports in a folder of its own; name no place, or one elsewhere"
        )


def _print(
    console: Console, snapshot: str, place: str, size: int, contents: Iterable[str], notes: Iterable[str]
) -> None:
    for line in (f"{snapshot} is in {place}, {filesize.decimal(size)}.", *(f"  {one}" for one in contents)):
        console.print(line)
    for note in notes:
        console.print(f"note: {note}")
