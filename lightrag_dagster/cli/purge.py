"""`purge`: permanent removal of documents."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from rich.console import Console

from lightrag_dagster.cli.progress import display
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.documents import copies, find_gone, holders, noted
from lightrag_dagster.purge.purge import passes_behind, purge, purging, unfinished
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.snapshots.exported import exported_snapshots
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, pinned_snapshots
from lightrag_dagster.storage.tables.source_tables import SourceTables


def run_purge(console: Console, names: Sequence[str], *, yes: bool) -> None:
    """Print the snapshots that have the documents and the data to be removed; with `yes` remove it.

    Without names it is what edits removed from documents that stay.

    Raises:
        SourceError: a document or source is still there, or never was.
        StoreError: something still needs it, or another process works in the home; the message says what to do.
    """
    looked = Situation.looking(load_settings())
    home, settings, gone = looked.home, looked.settings, find_gone(looked, names)
    with purging(looked.recipes, gone) as situation, display(console) as shown:
        snapshot = situation.require_published()
        for name, ids in holders(home, gone).items():
            console.print(f"{name} is in {', '.join(ids) or 'no older snapshot'}")
        for name, same in copies(home, gone, snapshot).items():
            console.print(f"The text of {name} stays, as that of {', '.join(same)}.")
        verb = "removing" if yes else "would be removed"
        exported = exported_snapshots(home)
        for one in (one.snapshot_id for one in list_snapshots(home) if one.snapshot_id != snapshot.snapshot_id):
            named = ", ".join(name for name, snapshot_id in pinned_snapshots(home).items() if snapshot_id == one)
            taken_along = ", with its exports" if one in exported else ""
            console.print(f"{verb}: {one}{f' (named {named})' if named else ''}{taken_along}")
        for name in [] if gone else unfinished(home):
            console.print(f"{verb}: the unfinished backfill of {name}, with its answers")
        with_runs = any((home.dagster / name).exists() for name in ("dagster.yaml", "history"))
        for what in (*([] if gone else _withheld(situation)), *_elsewhere(situation, with_runs=with_runs)):
            console.print(f"not reached: {what}")
        console.print(f"{verb}: what {snapshot.snapshot_id} and the current tables do not use, and Dagster's history")
        if not yes:
            console.print("Nothing was removed. Add --yes to remove all that for good.")
            return
        with ExitStack() as stack:
            if with_runs:
                from lightrag_dagster.orchestration.jobs import open_jobs

                jobs = stack.enter_context(open_jobs(settings, shown, "purge"))
                jobs.refuse_others()
            stack.enter_context(noted(home, gone))
            done = purge(situation, gone)
            runs = jobs.forget_history() if with_runs else 0
    kinds = ("snapshot", "table version", "response", "vector", "undone decision")
    removed = ", ".join(counted(number, kind, f"{kind}s") for number, kind in zip(done, kinds, strict=True))
    console.print(f"Removed {removed} and the history of {counted(runs, 'run', 'runs')} in Dagster.")


def _withheld(situation: Situation) -> Iterator[str]:
    """Yield the sources whose accepted documents are not those that were read last, and passes that read others."""
    tables = SourceTables(situation.home)
    for name, record in situation.accepted.items():
        if tables.refusal(name) or tables.require("raw_documents", name).version != record.tables["raw_documents"]:
            yield f"texts that later edits removed from {name}; its last version is not accepted"
        for one in passes_behind(situation, name):
            had = f"texts that later edits removed from {name}, in what pass {one} has read of it"
            yield f"{had}; what it reads now is not accepted"


def _elsewhere(situation: Situation, *, with_runs: bool) -> Iterator[str]:
    """Yield what a purge leaves in files of decisions, and in a Dagster that is elsewhere."""
    if file := situation.settings.curation:
        yield f"{file}, with texts of decisions, and its history"
    if not with_runs:
        yield f"runs in Dagster; {situation.home.dagster} has none: set DAGSTER_HOME as they do"
