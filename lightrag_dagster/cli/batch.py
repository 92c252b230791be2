"""`batch list` and `batch cancel`: what is under way at the language model's provider."""

import asyncio
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.batch.ledger import OPEN, Batch, BatchLedger
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home

_HOUR = 3600.0
_SHOWN = 8
"""Characters of a name that are shown, and that are enough to mean it."""


def list_batches(console: Console, *, every: bool) -> None:
    """Ask the provider how far each batch is, and print a row for each.

    Raises:
        ProviderError: the provider cannot be asked.
        StoreError: the home is damaged.
    """
    settings = load_settings()
    home = Home(settings.home)
    if home.batches.exists() and settings.llm.provider != "offline":
        from lightrag_dagster.models.batch.waiting import look_at_batches

        asyncio.run(look_at_batches(settings.llm, home))
    batches = _batches(home) if every else _batches(home, *OPEN)
    if not batches:
        console.print("No batches." if every else "No batches are under way.")
        return
    table = Table("batch", "source", "state", "done", "hours", "cost")
    for batch in batches:
        hours = ((batch.ended_at or time.time()) - batch.prepared_at) / _HOUR
        table.add_row(
            batch.name[:_SHOWN],
            batch.source,
            batch.problem or batch.status or batch.state,
            f"{batch.finished:,} of {batch.requests:,}",
            f"{hours:.1f}",
            f"up to ${batch.worst_usd:.4f}" if batch.state in OPEN else f"${batch.cost_usd:.4f}",
        )
    console.print(table)


def cancel_batches(console: Console, names: Sequence[str], *, every: bool) -> None:
    """Cancel open batches by what their names begin with, or all of them, and say what becomes of each.

    Raises:
        SettingsError: none is named, or there is no open batch of a name.
        ProviderError: the provider cannot be asked.
    """
    settings = load_settings()
    chosen = _chosen(_batches(Home(settings.home), *OPEN), names, every=every)
    for batch, known in asyncio.run(_cancel(settings, chosen)):
        if known:
            console.print(f"{batch.name[:_SHOWN]} is being cancelled; the next run stores what it has answered.")
        else:
            console.print(f"{batch.name[:_SHOWN]} was given up; {batch.host} has no such batch under way.")
    if not chosen:
        console.print("No batches are under way.")


async def _cancel(settings: Settings, chosen: Sequence[Batch]) -> list[tuple[Batch, bool]]:
    from lightrag_dagster.models.batch.batches import open_batches

    async with open_batches(settings.llm, Home(settings.home)) as batches:
        return [(batch, await batches.cancel(batch)) for batch in chosen]


def _chosen(batches: Sequence[Batch], names: Sequence[str], *, every: bool) -> list[Batch]:
    if every:
        return list(batches)
    if not names:
        raise SettingsError("name the batches to cancel, or give --all; `lightrag-dagster batch list` shows them")
    for name in names:
        if not any(batch.name.startswith(name) for batch in batches):
            raise SettingsError(f"no batch {name} is under way; `lightrag-dagster batch list` shows those that are")
    return [batch for batch in batches if batch.name.startswith(tuple(names))]


def _batches(home: Home, *states: str) -> list[Batch]:
    if not home.batches.exists():
        return []
    with BatchLedger(home.batches) as ledger:
        return ledger.batches(*states)
