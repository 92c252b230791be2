"""`status`: the published snapshot, and the pending, rejected and outdated rows of each source."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict

from rich import filesize
from rich.console import Console

from lightrag_dagster.cli.check import damage_of, failing
from lightrag_dagster.cli.losses import print_few, print_losses
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.fact_schemas import split_pass
from lightrag_dagster.indexes.views_refresh import refresh_views
from lightrag_dagster.models.access import access_warnings
from lightrag_dagster.models.batch.ledger import OPEN, BatchLedger
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.listings import watermark_line
from lightrag_dagster.pipeline.losses import Loss, added_up, lost_of_source
from lightrag_dagster.pipeline.pending import Pending, pending, published_part
from lightrag_dagster.pipeline.retention import disk_of, last_collection
from lightrag_dagster.pipeline.scopes import STILL_READ, scope_snapshot, still_read
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.purging import unfinished_purge
from lightrag_dagster.storage.snapshots.repair import check_databases
from lightrag_dagster.storage.snapshots.snapshots import UNPUBLISHED_SCOPE, held_snapshot
from lightrag_dagster.storage.tables.source_tables import SourceTables


def show_status(console: Console, *, as_json: bool) -> None:
    """Print the published snapshot and a row for each configured source, or all of it as JSON.

    Raises:
        SourceError: the sources cannot be listed, where any are named; the published part was printed, as JSON with
            the `error`.
        StoreError: the home is damaged; if only a database is, all else was printed.
    """
    settings = load_settings()
    if not settings.scope:
        refresh_upstream(settings)
    home = Home.existing(settings) if settings.scope else Home.of(settings)
    situation = Situation.looking(settings, leniently=True)
    asks_only, unlisted = settings.only_asks, None
    try:
        states = published_part(situation) if asks_only else pending(situation)
    except SourceError as error:
        states, unlisted = published_part(situation), error
    refresh_views(home)
    if as_json:
        print_json(_facts(home, states, settings) | {"error": str(unlisted) if unlisted else None})
    elif asks_only or unlisted:
        _print_published(console, home, states)
        print_losses(console, _losses(home, states), states.warnings, states.unreleased, (), home.scope)
        if not (settings.scope or unlisted):
            console.print("Nothing names sources, and there is no folder `sources`: this machine only asks.")
    else:
        _print_all(console, home, states, settings)
    if unlisted:
        raise unlisted
    check_databases(home)


def _print_all(console: Console, home: Home, states: Pending, settings: Settings) -> None:
    _print_published(console, home, states)
    if states.manifest is not None:
        _print_disk(console, home, settings.retention)
    columns = ("source", "state", "documents", "chunks", "outdated rows")
    counted = (
        (name, "withheld" if one.withheld else one, *map(_counts, (one.documents, one.chunks, one.outdated)))
        for name, one in states.sources.items()
    )
    print_table(console, columns, list(counted), wrap=columns)
    for name, column in _watermarks(settings).items():
        console.print(watermark_line(name, column))
    for name, said in _scopes(states, settings).items():
        console.print(f"scope {name}: {said}")
    print_few(console, failing(home, states))
    _print_problems(console, states)
    print_few(console, damage_of(home))
    warnings = [*unfinished_purge(home), *states.warnings, *access_warnings(settings)]
    print_losses(console, states.losses, warnings, states.unreleased, states.unpublished)


def _losses(home: Home, states: Pending) -> list[Loss]:
    """Return the losses of all sources; where none could be listed, those of the sources that are published."""
    if states.sources or states.manifest is None:
        return states.losses
    sources, tables = states.manifest.inputs.sources, SourceTables(home)
    passes = {name: [split_pass(one)[1] for one in used if "@" in one] for name, used in sources.items()}
    return added_up(one for name in passes for one in lost_of_source(name, tables.current_versions(name, passes[name])))


def _print_published(console: Console, home: Home, states: Pending) -> None:
    """Print the facts that need no sources: the published snapshot, the cost and the batches."""
    manifest = states.manifest
    if manifest is None:
        said = f"Nothing is published in {home.name} yet"
        console.print(f"{said}: {UNPUBLISHED_SCOPE}." if home.scope else f"{said}; run `lightrag-dagster run`.")
    else:
        rows = manifest.rows
        console.print(f"Published: {manifest.snapshot_id}, number {manifest.sequence}, at {manifest.published_at}")
        if held_snapshot(home):
            newest = f"{states.unreleased}, which waits for release" if states.unreleased else "the newest"
            console.print(f"It is held; `lightrag-dagster release` publishes {newest}.")
        for fault in states.stopped:
            console.print(f"{states.unreleased} is withheld: {fault}")
        console.print(
            f"{rows['raw_documents']:,} documents listed, {rows['extractions']:,} chunks at {rows['chunks']:,} places, "
            f"{rows['entities']:,} entities, {rows['relations']:,} relations"
        )
        if states.graph == "not built yet":
            console.print("graph: not built yet; `cypher` is unavailable until `lightrag-dagster run` builds it")
        elif states.graph == "left out":
            console.print("graph: left out, as the setting dagster.without says; `cypher` is unavailable")
    if not home.scope:
        _print_cost(console, home)
        if batches := _batches(home):
            console.print(f"Batches: {batches}")


def _print_disk(console: Console, home: Home, retention: RetentionSettings) -> None:
    """Print what is kept and what could go, and the failure of the last collection."""
    try:
        disk, last = disk_of(home, retention), last_collection(home)
    except StoreError as error:
        console.print(f"Disk: not known; {error}")
        return
    kept = counted(disk.snapshots, "kept snapshot", "kept snapshots")
    console.print(
        f"Disk: {filesize.decimal(disk.kept_bytes)} in {kept}, with tables and vectors; "
        f"`lightrag-dagster gc` could remove {filesize.decimal(disk.removable_bytes)}."
    )
    if last and last.failed:
        console.print(f"{last}.")


def _disk(home: Home, retention: RetentionSettings) -> dict[str, object]:
    try:
        last = last_collection(home)
        return {**disk_of(home, retention)._asdict(), "failed": last.failed if last else ""}
    except StoreError as error:
        return {"failed": str(error)}


def _facts(home: Home, states: Pending, settings: Settings) -> dict[str, object]:
    """Return the facts of the console's tables."""
    manifest, spent = states.manifest, None
    with suppress(StoreError):
        spent = None if home.scope else _spent(home)
    return {
        "snapshot_id": manifest.snapshot_id if manifest else None,
        "sequence": manifest.sequence if manifest else None,
        "published_at": manifest.published_at if manifest else None,
        "held": held_snapshot(home) is not None,
        "waits_for_release": states.unreleased,
        "stopped": [*states.stopped],
        "rows": manifest.rows if manifest else {},
        "graph": states.graph,
        "scopes": _scopes(states, settings),
        "outdated": states.outdated,
        "spent_usd": spent,
        "batches": None if home.scope else _batches(home),
        "sources": {
            name: {
                "state": str(one),
                "documents": dict(one.documents),
                "chunks": dict(one.chunks),
                "outdated": dict(one.outdated),
                "backfill": one.backfill,
                "backfill_runs": one.backfill_runs,
                "watermark": _watermarks(settings).get(name),
            }
            for name, one in states.sources.items()
        },
        "failing": failing(home, states),
        "damaged": damage_of(home),
        "disk": _disk(home, settings.retention),
        "vectors": manifest.vectors.model_dump() if manifest else None,
        "losses": [asdict(loss) for loss in _losses(home, states)],
        "warnings": [*unfinished_purge(home), *states.warnings, *access_warnings(settings)],
    }


def _watermarks(settings: Settings) -> dict[str, str]:
    return {name: one.rows.watermark for name, one in settings.named_sources.items() if one.rows and one.rows.watermark}


def _scopes(states: Pending, settings: Settings) -> dict[str, str]:
    """Return what is published of each scope, or why it waits; within a scope nothing is said of others."""
    found = {}
    for name in () if settings.scope else settings.scopes:
        shown = scope_snapshot(settings, name) if name not in states.scopes else None
        rows = shown.rows["raw_documents"] if shown else 0
        published = f"published, {counted(rows, 'document', 'documents')}" if rows else "it shows no document"
        read = f"; {STILL_READ}" if shown and still_read(settings, name) else ""
        found[name] = states.scopes.get(name, published + read)
    return found


def _print_problems(console: Console, states: Pending) -> None:
    sources = states.sources.items()
    print_few(console, (f"{name} is withheld: {state.withheld}" for name, state in sources if state.withheld))
    print_few(console, (state.unfinished_backfill for _, state in sources if state.unfinished_backfill))
    if states.outdated:
        console.print(f"Outdated in the knowledge base: {' and '.join(states.outdated)}.")
    if states.outdated or any(state.outdated for state in states.sources.values()):
        console.print(
            "Outdated rows were made with other prompts, models or settings; they stay until "
            "`lightrag-dagster backfill`, which shows the price first."
        )


def _print_cost(console: Console, home: Home) -> None:
    ledger = Ledger(home.ledger)
    try:
        if months := [one for one in ledger.costs(["month"]) if one["calls"] or one["cost_usd"]]:
            in_last = f"${months[-1]['cost_usd']:.4f} of it in {months[-1]['month']}; `lightrag-dagster costs` has more"
            console.print(f"Spent: ${_spent(home):.4f} so far, {in_last}.")
    except StoreError:  # which ends the command, when all else is printed
        console.print("Spent: not known.")


def _spent(home: Home) -> float:
    """Return what was ever spent, in US dollars; raises StoreError."""
    return sum(entry.cost_usd for entry in Ledger(home.ledger).by_purpose().values())


def _batches(home: Home) -> str | None:
    if not home.may_have_batches:
        return None
    try:
        with BatchLedger(home.batches) as ledger:
            batches = ledger.batches(*OPEN)
    except StoreError:  # as above
        return "not known."
    done = sum(batch.finished for batch in batches)
    requests = sum(batch.requests for batch in batches)
    counted = f"{len(batches)} open, {done} of {requests} requests done at the last look"
    return f"{counted}; see `lightrag-dagster batch`." if batches else None


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{rows:,} {status}" for status, rows in counts.items())
