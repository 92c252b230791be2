"""Extraction by batch of ten chunks, step by step: `python -m tests.models.batch.steps HOME` goes through them."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.models.batch import model as batch_model
from lightrag_dagster.models.batch.ledger import Batch, BatchLedger
from lightrag_dagster.models.batch.model import open_batched_chat_model
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.settings import ExtractionSettings, LLMSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.fencing import last_fenced
from lightrag_dagster.storage.home import Home
from tests.stages.extraction.test_extractions import DONE, chunks, entity

CONTENTS = [f"Chunk number {number}." for number in range(10)]


def llm(**batch: Any) -> LLMSettings:
    return LLMSettings(provider="openai", model="gpt-4o-mini", mode="batch", max_output_tokens=100, **batch)


async def step(
    home: Home,
    settings: LLMSettings,
    gleaning: int = 0,
    source: str = "s",
    contents: Sequence[str] = CONTENTS,
    *,
    backfill: bool = False,
) -> pa.Table | None:
    """Run the extraction once; return its rows when nothing is awaited any more."""
    account = Account.of("run", source, settings)
    if settings.mode == "batch":
        opened: Any = open_batched_chat_model(settings, home, account, backfill=backfill)
    else:
        opened = open_chat_model(settings, home, "extract", account)
    async with opened as model:
        rows = await extract(
            source,
            chunks(*contents),
            Extractor(
                model,
                load_prompts(None),
                ExtractionSettings(gleaning=gleaning),
                "recipe",
                len,
                longer_outputs=settings.longer_outputs,
            ),
        )
    return None if model.awaited else rows


def finish(home: Home, settings: LLMSettings, gleaning: int = 0, most_steps: int = 12) -> tuple[pa.Table, int]:
    """Run it until it is done; return the rows and how many steps that took."""
    for number in range(1, most_steps + 1):
        rows = asyncio.run(step(home, settings, gleaning))
        if rows is not None:
            return rows, number
    raise AssertionError(f"not done after {most_steps} steps")


def text_of(body: dict[str, Any]) -> str:
    """Return the chunk that a request is about."""
    return last_fenced(body["messages"][1]["content"]) or ""


def answer(body: dict[str, Any]) -> str:
    return f"{entity(text_of(body))}\n{DONE}"


def ledger_of(home: Home) -> list[Batch]:
    with BatchLedger(home.batches) as ledger:
        return ledger.batches()


def go_through_all(home: Home) -> pa.Table:
    """Extract by many small batches, in two rounds, and return the rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_model, "MAX_REQUESTS", 3)
        return finish(home, llm(enqueued_tokens=5_000), gleaning=1, most_steps=100)[0]


if __name__ == "__main__":
    go_through_all(Home(Path(sys.argv[1])))
