"""`batch` and `batch cancel`: the batches at the language model's provider."""

import asyncio
import time
from collections.abc import Sequence

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.errors import BuilderLockedError, SettingsError
from lightrag_dagster.models.batch.ledger import ENDED, OPEN, Batch, BatchLedger
from lightrag_dagster.settings import LLMSettings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import using_batches

_SHOWN = 8
"""Characters of a name that are shown; they are enough to choose it."""


def list_batches(console: Console, *, every: bool) -> None:
    """Poll the provider, and print a row for each open batch, or for every batch.

    Answers that no source waits for, and so no run may collect, are stored and booked.

    Raises:
        ProviderError: the provider cannot be asked.
        StoreError: the home is damaged.
    """
    settings = load_settings()
    home = Home.existing(settings)
    try:
        if home.may_have_batches and settings.llm.provider != "offline":
            asyncio.run(_poll(console, settings.llm, home))
    finally:  # an error may be about a batch that is to be cancelled
        batches: list[Batch] = []
        if home.may_have_batches:
            with BatchLedger(home.batches) as ledger:
                batches = ledger.batches(*([] if every else OPEN))
        if batches:
            columns = ("batch", "source", "state", "done", "hours", "cost")
            print_table(console, columns, [_row(batch) for batch in batches], wrap={"source", "state"})
        else:
            console.print("No batches." if every else "No batches are open.")


def cancel_batches(console: Console, names: Sequence[str], *, every: bool) -> None:
    """Cancel the open batches whose names begin with one of `names`, or all open batches, and print the results.

    Raises:
        SettingsError: no name is given, or an empty one, or no open batch has such a name.
        ProviderError: the provider cannot be asked.
    """
    if not every and not (names and all(names)):  # each name begins with an empty one
        raise SettingsError("name the batches to cancel, or give --all; `lightrag-dagster batch` shows them")
    settings = load_settings()
    if not asyncio.run(_cancel(console, settings.llm, Home.existing(settings), names, every=every)):
        console.print("No batches are open.")


def _row(batch: Batch) -> tuple[str, ...]:
    hours = ((batch.ended_at or time.time()) - batch.prepared_at) / 3600.0
    state, done = batch.problem or batch.status or batch.state, f"{batch.finished:,} of {batch.requests:,}"
    cost = f"up to ${batch.worst_usd:.4f}" if batch.state in OPEN else f"${batch.cost_usd:.4f}"
    return batch.name[:_SHOWN], batch.source, state, done, f"{hours:.1f}", cost


async def _poll(console: Console, llm: LLMSettings, home: Home) -> None:
    from lightrag_dagster.models.batch.batches import open_batches

    async with open_batches(llm, home, exclusive=False) as batches:
        await batches.poll()
        if not all(one.waiting for one in batches.at_this_host(ENDED)):
            try:
                with using_batches(home, 0):
                    await batches.collect()
            except BuilderLockedError:
                console.print("A run works at the batches, and stores the answers of those that have ended.")


async def _cancel(console: Console, llm: LLMSettings, home: Home, names: Sequence[str], *, every: bool) -> bool:
    """Cancel the chosen batches; return True if there are any."""
    from lightrag_dagster.models.batch.batches import open_batches

    async with open_batches(llm, home) as batches:
        opened = batches.ledger.batches(*OPEN)
        for name in names:
            if not any(batch.name.startswith(name) for batch in opened):
                raise SettingsError(f"no open batch is named {name}; `lightrag-dagster batch` shows the open ones")
        chosen = [batch for batch in opened if every or batch.name.startswith(tuple(names))]
        for batch in chosen:
            if await batches.cancel(batch):
                message = "is being cancelled; the next run, or `batch`, stores the answers that it has"
            elif batch.batch_id or batch.host != batches.host:
                message = f"was given up and counts with its worst cost; end it at {batch.host} if it runs there"
            else:
                message = f"was given up; {batch.host} has no such batch"
            console.print(f"{batch.name[:_SHOWN]} {message}.")
    return bool(chosen)
