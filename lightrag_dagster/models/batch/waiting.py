"""Waits for batches, and polls without waiting."""

import asyncio
import logging
import time
from collections.abc import Collection

from lightrag_dagster.core import progress
from lightrag_dagster.errors import PermanentProviderError, ProviderAwayError, ProviderError, TransientProviderError
from lightrag_dagster.models.batch.batches import open_batches
from lightrag_dagster.models.batch.ledger import UNDER_WAY, WaitingExtraction
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.storage.home import Home

_log = logging.getLogger(__name__)

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
"""Seconds between polls, at first and in the end."""
LONGEST_SILENCE = 3_600.0
"""Seconds for which a provider may be away, or not tell of a batch, while batches are waited for."""

_GROWTH = 1.5


async def poll_batches(settings: LLMSettings, home: Home) -> dict[WaitingExtraction, list[str]]:
    """Poll the provider, and return the extractions that can continue, each with its batches and their states.

    It neither collects nor submits. Raises as `Batches` does, unless some can continue.
    """
    silent = time.time() - LONGEST_SILENCE
    async with open_batches(settings, home, exclusive=False) as batches:
        try:
            await batches.poll()
        except ProviderError as error:
            if not batches.ledger.due(silent):
                raise
            _log.warning("%s", error)
        return batches.ledger.due(silent)


async def collect_batches(settings: LLMSettings, home: Home, source: str, purpose: str) -> None:
    """Store the answers of the batches that have ended, those that a source waits for at any rate.

    Raises as `Batches` does.
    """
    async with open_batches(settings, home) as batches:
        await batches.poll_for(source, purpose)
        await batches.collect(source)


async def wait_until_due(settings: LLMSettings, home: Home, sources: Collection[str]) -> list[str]:
    """Wait until an extraction of some of `sources` can continue, and return these sources; none if none waits.

    Meanwhile collect batches that end, and submit prepared ones. Raises as `Batches` does; while the provider is away,
    only after an hour.
    """
    pause, answered = FIRST_PAUSE, time.monotonic()
    while True:
        silent = time.time() - LONGEST_SILENCE
        try:
            async with open_batches(settings, home) as batches:
                try:
                    await batches.poll()
                except PermanentProviderError as error:  # of one batch; who waits for it is due when it stays silent
                    progress.note(str(error))
                await batches.collect()
                await batches.submit()
                under_way = batches.at_this_host(UNDER_WAY)
                due = {waiting.source for waiting in batches.ledger.due(silent)}
                waits = {waiting.source for waiting in batches.ledger.waiting()}
        except (ProviderAwayError, TransientProviderError) as error:
            if time.monotonic() - answered > LONGEST_SILENCE:
                raise
            _log.warning("%s; waiting all the same", error)
        else:
            answered = time.monotonic()
            progress.report("batches", sum(one.finished for one in under_way), sum(one.requests for one in under_way))
            chosen = [source for source in sources if source in due]
            if chosen or waits.isdisjoint(sources):
                return chosen
        await asyncio.sleep(pause)
        pause = min(_GROWTH * pause, LONGEST_PAUSE)
