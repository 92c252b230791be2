"""`cache` and `cache prune`: the stores of paid responses and vectors."""

from math import ceil

from rich import filesize
from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home


def show_stats(console: Console) -> None:
    """Print the size and the cost of each store; raises StoreError."""
    home = Home.existing(load_settings())
    with ResponseStore(home.responses, looking=True) as responses, VectorStore(home.vectors, looking=True) as vectors:
        totals = responses.totals()
        bought = (f"{totals.input_tokens:,}", f"{totals.output_tokens:,}", f"${totals.cost_usd:.4f}")
        rows = [
            ("responses", f"{totals.rows:,}", filesize.decimal(responses.stored_bytes), *bought),
            ("vectors", f"{vectors.count():,}", filesize.decimal(vectors.stored_bytes), "", "", ""),
        ]
    print_table(console, ("store", "rows", "size", "input tokens", "output tokens", "cost"), rows, wrap={"store"})


def run_prune(console: Console, unused_for: float, *, dry_run: bool) -> None:
    """Remove the responses and vectors that were not used for some seconds, and print their number.

    Their last use is known to the day, so that a part of one counts as a whole. Raises StoreError.
    """
    days = ceil(unused_for / 86_400)
    home = Home.existing(load_settings())
    counts = []
    with ResponseStore(home.responses, looking=True) as responses, VectorStore(home.vectors, looking=True) as vectors:
        for name, store in (("responses", responses), ("vectors", vectors)):
            before = store.count()
            removed = store.count(unused_for=days) if dry_run else store.prune(days)
            counts.append(f"{removed:,} of {before:,} {name}")
    verb = "would be removed" if dry_run else "removed"
    console.print(f"{verb}: {', '.join(counts)} (not used for {days} days)")
