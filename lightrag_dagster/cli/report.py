"""`report`: a page about a snapshot, into the home or a file."""

from pathlib import Path

from rich.console import Console

from lightrag_dagster.cli.export import refuse_place_in_home
from lightrag_dagster.cli.terminal import megabytes, print_json
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.report import published_report, write_report_to
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh


def report(console: Console, file: Path | None, filters: Filters, snapshot: str | None, *, as_json: bool) -> None:
    """Write the page into a new file; without one, that of the published snapshot into the home.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: a source, media type or language of the filter does not exist.
        StoreError: there is no such snapshot, or the file is there already or in the home, or the disk refuses.
    """
    home = Home.of(load_settings())
    refuse_place_in_home(home, file)
    refresh(home)
    made = published_report(home) if file is None else write_report_to(home, file, filters, snapshot)
    if as_json:
        print_json(made._asdict())
        return
    figures = made.figures
    console.print(f"{made.snapshot_id} is in {made.place}, {megabytes(made.bytes)}.", soft_wrap=True)
    console.print(
        f"  {figures['listed_entities']:,} of {figures['entities']:,} entities, "
        f"{figures['listed_relations']:,} of {figures['relations']:,} relations, {figures['quotes']:,} quotes",
        soft_wrap=True,
    )
    for note in made.notes:
        console.print(f"note: {note}", soft_wrap=True)
