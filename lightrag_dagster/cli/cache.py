"""`cache stats` and `cache prune`: what was paid for, and what of it is of no use any more."""

from rich.console import Console
from rich.table import Table

from lightrag_dagster.build.pruning import prune
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.storage.vectors import VectorStore

_LOCK_SECONDS = 5.0
_MEGABYTE = 1_000_000


def show_stats(console: Console) -> None:
    """Print how much each store holds, and what it cost; raises StoreError."""
    home = Home(load_settings().home)
    with ResponseStore(home.responses) as responses, VectorStore(home.vectors) as vectors:
        totals = responses.totals()
        table = Table("store", "rows", "MB", "input tokens", "output tokens", "cost")
        for column in table.columns[1:]:
            column.justify = "right"
        table.add_row(
            "responses",
            f"{totals.rows:,}",
            f"{responses.size / _MEGABYTE:.1f}",
            f"{totals.input_tokens:,}",
            f"{totals.output_tokens:,}",
            f"${totals.cost_usd:.4f}",
        )
        table.add_row("vectors", f"{len(vectors.keys()):,}", f"{vectors.size / _MEGABYTE:.1f}", "", "", "")
    console.print(table)


def run_prune(console: Console, *, dry_run: bool) -> None:
    """Remove what no build asks for any more, and say how much that was; raises as `prune`."""
    settings = load_settings()
    home = Home(settings.home)
    with building(home, _LOCK_SECONDS):
        pruned = prune(settings, dry_run=dry_run)
    verb = "would be removed" if dry_run else "removed"
    console.print(
        f"{verb}: {pruned.responses} of {pruned.responses_before} responses, {pruned.vectors} of "
        f"{pruned.vectors_before} vectors"
    )
