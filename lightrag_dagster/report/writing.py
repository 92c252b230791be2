"""The report of a snapshot as a file: of all of it, or of the documents that a filter allows."""

from collections.abc import Mapping
from contextlib import closing
from os.path import lexists
from pathlib import Path
from typing import Any, NamedTuple

from lightrag_dagster.core.export_formats import REPORT, REPORT_FILE, REPORT_REVISION
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.exports.exports import Writer, Writers, export_published
from lightrag_dagster.exports.written import Written
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.filters.view import filtered
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.report.bounds import BOUNDS, PageBounds
from lightrag_dagster.report.changes import changes_of
from lightrag_dagster.report.contents import PageContents, contents_of
from lightrag_dagster.report.facts import facts_of
from lightrag_dagster.report.page import page_of
from lightrag_dagster.report.picture import as_markdown, picture_of
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.exported import place_of
from lightrag_dagster.storage.snapshots.generations import Generation

PICTURE = "picture.svg"

UNFILTERED = "everything: no filter holds for it, so protect it like the home"
"""Note of a report without a filter."""


class Report(NamedTuple):
    """A page: the data that its scripts show, the drawing with its numbers, and notes on what it leaves out."""

    data: dict[str, Any]
    contents: PageContents
    notes: tuple[str, ...]

    @property
    def html(self) -> str:
        """The page as one file."""
        return page_of("Knowledge graph", self.data)


class Made(NamedTuple):
    """A report that was written: where it is, its numbers, and what it leaves out."""

    snapshot_id: str
    place: str
    bytes: int
    figures: Mapping[str, int]
    notes: tuple[str, ...]


def report_of(snapshot: Snapshot, filters: Filters | None = None, bounds: PageBounds = BOUNDS) -> Report:
    """Return the report of a snapshot, or as if it held the allowed documents alone.

    Raises:
        QueryError: a source, media type or language of the filter does not exist.
        StoreError: a table of the snapshot is missing or damaged.
    """
    if filters is None or filters == Filters():
        generation = snapshot.generation
        return _report(snapshot, bounds, changes_of(generation, bounds), UNFILTERED, facts_of(generation, bounds))
    with closing(filtered(snapshot, filters)) as seen:
        said = f"documents of a filter alone: {filters}"
        changes: dict[str, Any] = {"note": "Under a filter, changes are not compared."}
        hidden = {"left_out": ["facts, which are not shown under a filter"]}
        return _report(seen, bounds, changes, said, hidden if snapshot.generation.merges_passes() else None)


def _report(
    seen: Snapshot, bounds: PageBounds, changes: dict[str, Any], said: str, facts: dict[str, Any] | None
) -> Report:
    found = contents_of(seen, bounds, changes)
    figures = found.figures
    manifest = seen.manifest
    about = [
        f"snapshot {manifest.snapshot_id}",
        f"published {manifest.published_at}",
        f"{figures['entities']:,} entities",
        f"{figures['relations']:,} relations",
        said,
    ]
    notes = (*seen.notes, *found.left_out, *changes.get("left_out", ()), *(facts or {}).get("left_out", ()))
    shown = {"facts": facts} if facts and "counts" in facts else {}
    return Report({**found.data, **shown, "about": about, "left_out": list(notes)}, found, (said, *notes))


def write_report(generation: Generation, folder: Path) -> Written:
    """Write the report of a whole snapshot into an empty folder; a writer of exports.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
        OSError: the disk refuses.
    """
    with closing(open_snapshot(generation.home, generation.id)) as snapshot, snapshot.reading():
        report = report_of(snapshot)
        snapshot.checked()
    found = report.contents
    (folder / REPORT_FILE).write_text(report.html, encoding="utf-8", newline="\n")
    (folder / PICTURE).write_text(picture_of(found.drawing), encoding="utf-8", newline="\n")
    rows = found.figures["listed_entities"] + found.figures["listed_relations"]
    compared = found.data["changes"].get("before")
    return Written({REPORT_FILE: rows}, report.notes, figures=found.figures, compared_with=compared)


WRITERS: Writers = {REPORT: Writer(write_report, REPORT_REVISION)}
"""The report as a format of exports, which is kept, swapped and removed like the others."""


def published_report(home: Home) -> Made:
    """Write the report of the published snapshot into the home, unless it is there; raises as `export_published`."""
    exports = export_published(home, [REPORT], WRITERS)
    found = exports.formats[REPORT]
    place = f"{place_of(home, exports.snapshot_id, REPORT)}/{REPORT_FILE}"
    return Made(exports.snapshot_id, place, found.bytes, found.figures, tuple(found.notes))


def published_picture(home: Home, made: Made) -> str:
    """Return the picture beside the report of the home, as Markdown without a file; raises StoreError if it is gone."""
    return as_markdown(home.files.read_bytes(home.exports / made.snapshot_id / REPORT / PICTURE))


def write_report_to(home: Home, file: Path, filters: Filters, snapshot_id: str | None) -> Made:
    """Write the report of a snapshot, the published one unless named, into a new file.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: a source, media type or language of the filter does not exist.
        QueryError: there is no such snapshot.
        StoreError: the file is there already, or the disk refuses.
    """
    file = file.expanduser().absolute()
    if lexists(file):
        raise StoreError(f"{file} is there already; name a file that is not there yet")
    with closing(open_snapshot(home, snapshot_id)) as snapshot, snapshot.reading():
        report = report_of(snapshot, filters)
        snapshot.checked()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(file, html := report.html)
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {one_line(error)}; nothing was written") from error
    return Made(snapshot.manifest.snapshot_id, str(file), len(html.encode()), report.contents.figures, report.notes)
