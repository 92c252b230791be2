"""Commands `snapshots`, `rollback`, `release` and `gc`."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich import filesize
from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.pipeline.graph import build_published_graph, has_large_graph
from lightrag_dagster.pipeline.pending import WAITS_FOR_RELEASE
from lightrag_dagster.pipeline.retention import collect_by_hand
from lightrag_dagster.pipeline.scopes import tidy_scopes
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import Lock
from lightrag_dagster.storage.snapshots import snapshots

_COUNTED = {"raw_documents": "documents", "entities": "entities", "relations": "relations", "merged_facts": "facts"}
"""Tables whose rows are counted, and their headings; facts where there are some."""


def list_snapshots(console: Console, *, as_json: bool) -> None:
    """Print every snapshot, the newest last, or all as JSON; raises StoreError."""
    home = Home.existing(load_settings())
    refresh(home)
    published = snapshots.published_snapshot(home)
    held = snapshots.held_snapshot(home)
    names: dict[str, list[str]] = {}
    for name, snapshot_id in snapshots.pinned_snapshots(home).items():
        names.setdefault(snapshot_id, []).append(name)
    rows, facts, listed = [], [], snapshots.list_snapshots(home)
    shown = [name for name in _COUNTED if name != "merged_facts" or any(one.rows.get(name) for one in listed)]
    for one in listed:
        is_published, state = published is not None and one.snapshot_id == published.snapshot_id, None
        if is_published:
            state = "held" if held else "published"
        elif held and one == listed[-1]:
            state = WAITS_FOR_RELEASE
        named = names.get(one.snapshot_id, [])
        marks = [one.published_at[:16].replace("T", " "), *([state] if state else []), *named]
        rows.append(("\n  ".join([one.snapshot_id, *marks]), *(f"{one.rows.get(name, 0):,}" for name in shown)))
        about = {"snapshot_id": one.snapshot_id, "sequence": one.sequence, "published_at": one.published_at}
        facts.append(about | {"state": state, "names": named, "rows": one.rows})
    if as_json:
        print_json({"snapshots": facts})
        return
    print_table(console, ("snapshot", *map(_COUNTED.__getitem__, shown)), rows)


def pin(console: Console, name: str, snapshot: str | None) -> None:
    """Give a snapshot a name, or remove the name."""
    with _locked() as (home, _):
        snapshots.pin(home, name, snapshot)
    console.print(f"{snapshot} is pinned as {name}." if snapshot else f"No snapshot is pinned as {name} any more.")


def roll_back(console: Console, name: str) -> None:
    """Publish an older snapshot and hold it, and build its graph again, unless it is large."""
    with _locked() as (home, lock):
        manifest = snapshots.rollback(home, name, lock)
        console.print(f"{manifest.snapshot_id} is published, and stays so until `lightrag-dagster release`.")
        _print_scopes(console)
        if load_settings().builds_graph and not has_large_graph(manifest):  # which is left to the next run
            build_published_graph(home)


def release(console: Console) -> None:
    """Publish the newest snapshot again."""
    with _locked() as (home, lock):
        manifest = snapshots.release(home, lock)
    settings = load_settings()
    gates = ", unless a gate stops them" if settings.checks or settings.publish != "automatic" else ""
    later = "the next one waits again" if settings.publish == "manual" else f"later ones will follow{gates}"
    console.print(f"{manifest.snapshot_id} is published; {later}.")
    _print_scopes(console)


def _print_scopes(console: Console) -> None:
    if scopes := load_settings().scopes:
        shown = f"Scopes ({', '.join(scopes)}) show what they did until the next `lightrag-dagster run`"
        console.print(f"{shown}, or until the daemon publishes them.")


def collect(console: Console, *, dry_run: bool) -> None:
    """Remove files that no kept snapshot uses, and old runs, and print the kept snapshots and the numbers removed.

    Runs are removed from the Dagster instance in the home alone.
    """
    settings = load_settings()
    with _locked() as (home, lock):
        garbage = collect_by_hand(home, settings.retention, lock, dry_run=dry_run)
        of_scopes = tidy_scopes(settings, dry_run=dry_run)
    for snapshot, reason in sorted(garbage.kept.items()):
        console.print(f"kept: {snapshot} ({reason})")
    if garbage.skipped:
        console.print(f"skipped, being ingested: {', '.join(garbage.skipped)}; the next `gc` looks at them again")
    verb = "would be removed" if dry_run else "removed"
    console.print(
        f"{verb}: {counted(len(garbage.generations), 'snapshot', 'snapshots')}, "
        f"{counted(len(garbage.graphs), 'graph', 'graphs')} of older ones, "
        f"{counted(garbage.table_versions, 'table version', 'table versions')}, "
        f"{counted(len(garbage.vector_tables), 'vector table', 'vector tables')}, and older versions of the others: "
        f"{filesize.decimal(garbage.bytes_removed)} of {filesize.decimal(garbage.bytes_before)}; "
        "the response and vector stores stay"
    )
    for one in of_scopes:
        console.print(one)
    if home.dagster.resolve() == home.own_dagster.resolve() and (home.own_dagster / "history").exists():
        from lightrag_dagster.orchestration.jobs import prune_history

        runs = counted(prune_history(settings, dry_run=dry_run), "run", "runs")
        console.print(f"{verb} from Dagster's history: {runs} older than {settings.retention.runs_days:g} days")
    elif home.dagster != home.own_dagster:
        console.print(f"Dagster's history is in {home.dagster}, and stays")


@contextmanager
def _locked() -> Iterator[tuple[Home, Lock]]:
    home = Home.existing(load_settings())
    with building(home) as lock:
        yield home, lock
