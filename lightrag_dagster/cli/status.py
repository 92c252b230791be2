"""`status`: what is published, and what of each source is pending or failed."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from lightrag_dagster.build.inheritance import drifted_parts
from lightrag_dagster.build.states import SourceState, backfill_plan, source_states
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.cli.plan import dollars, number
from lightrag_dagster.models.batch.ledger import OPEN, BatchLedger
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import current_snapshot, held_snapshot
from lightrag_dagster.storage.tables import SourceTables


def show_status(console: Console) -> None:
    """Print the published snapshot and a row for each configured source.

    Raises:
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    settings = load_settings()
    home = Home(settings.home)
    manifest = current_snapshot(home)
    if manifest is None:
        console.print(f"Nothing is published in {home.root} yet; run `lightrag-dagster run`.")
    else:
        rows = manifest.rows
        console.print(f"Published: {manifest.snapshot_id}, number {manifest.sequence}, at {manifest.published_at}")
        if held_snapshot(home):
            console.print("A rollback holds it published; `lightrag-dagster release` publishes the newest again.")
        console.print(
            f"{rows['raw_documents']} documents, {rows['chunks']} chunks, {rows['entities']} entities, "
            f"{rows['relations']} relations"
        )
    _print_cost(console, Ledger(home.ledger))
    _print_batches(console, home)
    table = Table("source", "state", "documents", "failed chunks", "drifted")
    tables, states = SourceTables(home), source_states(settings)
    for one in states:
        table.add_row(one.source, one.state, *_counts(tables, one.source), ", ".join(one.drifted))
    console.print(table)
    _print_drift(console, settings, states)


def _print_cost(console: Console, ledger: Ledger) -> None:
    run = ledger.last_run()
    if run is not None:
        ever = sum(entry.cost_usd for entry in ledger.by_purpose().values())
        console.print(f"Spent: ${ever:.4f} so far, ${ledger.spent(run):.4f} of it by the last run that asked a model.")


def _print_drift(console: Console, settings: Settings, states: Sequence[SourceState]) -> None:
    plan = backfill_plan(settings, states)
    if plan is None:
        return
    if parts := drifted_parts(Versions.of(settings)):
        console.print(f"Of the knowledge base have drifted: {' and '.join(parts)}.")
    work = f"ask about {sum(source.chunks_new for source in plan.sources)} chunks"
    if anew := plan.remaking:
        work += f", make {number(anew.summary_calls)} summaries, embed {number(anew.embedding_tokens)} tokens"
    console.print(
        "What has drifted was made with other prompts, models or settings. `lightrag-dagster backfill --all` would "
        f"{work}, for {dollars(plan.total)}."
    )


def _print_batches(console: Console, home: Home) -> None:
    if not home.batches.exists():
        return
    with BatchLedger(home.batches) as ledger:
        batches = ledger.batches(*OPEN)
    if batches:
        done, requests = sum(batch.finished for batch in batches), sum(batch.requests for batch in batches)
        counted = f"{len(batches)} under way, {done} of {requests} requests done when somebody last looked"
        console.print(f"Batches: {counted}; see `lightrag-dagster batch list`.")


def _counts(tables: SourceTables, source: str) -> tuple[str, str]:
    documents, failed = "", ""
    if tables.current("raw_documents", source):
        status = Counter(tables.read("raw_documents", source, columns=["status"])["status"].to_pylist())
        documents = ", ".join(f"{count} {name}" for name, count in sorted(status.items()))
    if tables.current("extractions", source):
        failed = str(tables.read("extractions", source, columns=["status"])["status"].to_pylist().count("failed"))
    return documents, failed
