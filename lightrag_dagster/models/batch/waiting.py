"""Waiting for batches, or only looking how far they are."""

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from lightrag_dagster.core import progress
from lightrag_dagster.models.batch.batches import Batches, open_batches
from lightrag_dagster.models.batch.ledger import UNDER_WAY
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.storage.home import Home

_FIRST_PAUSE = 5.0
_GROWTH = 1.5


class Standing(NamedTuple):
    """The sources that wait for batches, with the run that each does it in, and those of them that can go on.

    Of the latter it says for which batches they waited.
    """

    waiting: dict[str, str]
    due: dict[str, list[str]]


async def look_at_batches(settings: LLMSettings, home: Home) -> Standing:
    """Ask the provider how far each batch is, and leave the rest to a run; raises as `Batches` does."""
    async with open_batches(settings, home, exclusive=False) as batches:
        await batches.look()
        return Standing(batches.ledger.waiting(), batches.ledger.due())


async def wait_until_due(settings: LLMSettings, home: Home, sources: Collection[str]) -> list[str]:
    """Wait until some of `sources` can go on and return them; none when none of them waits for a batch.

    Meanwhile answers are stored as batches end, and prepared batches follow them. Between two looks there are 5 seconds
    at first, and at last `batch.longest_poll`. Raises as `Batches` does.
    """
    pause = min(_FIRST_PAUSE, settings.batch.longest_poll)
    while True:
        async with open_batches(settings, home) as batches:
            await batches.look()
            await batches.collect()
            await batches.submit()
            _report(batches)
            due, waiting = batches.ledger.due(), batches.ledger.waiting()
        chosen = [source for source in sources if source in due]
        if chosen or not waiting.keys() & set(sources):
            return chosen
        await asyncio.sleep(pause)
        pause = min(_GROWTH * pause, settings.batch.longest_poll)


def _report(batches: Batches) -> None:
    under_way = batches.mine(UNDER_WAY)
    progress.report("batches", sum(batch.finished for batch in under_way), sum(batch.requests for batch in under_way))
