"""Extraction by batch against the loopback server: what is submitted, what comes back, and what becomes of the rest."""

import asyncio
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.errors import BudgetExceededError, ProviderAccessError
from lightrag_dagster.extraction.extractions import extract
from lightrag_dagster.llm.batch.batches import open_batches
from lightrag_dagster.llm.batch.ledger import COLLECTED, BatchLedger
from lightrag_dagster.llm.batch.model import open_batched_chat_model
from lightrag_dagster.llm.providers import Account, open_chat_model
from lightrag_dagster.prompts import load_prompts
from lightrag_dagster.settings import BatchSettings, ExtractionSettings, LLMSettings
from lightrag_dagster.stores.home import Home
from tests.extraction.test_extractions import DONE, chunks, entity
from tests.loopback import Answer, Loopback
from tests.loopback_batches import Fate, SubmittedBatch

CONTENTS = [f"Chunk number {number}." for number in range(10)]


def llm(**batch: Any) -> LLMSettings:
    return LLMSettings(
        provider="openai", mode="batch", max_output_tokens=100, most_output_tokens=200, batch=BatchSettings(**batch)
    )


async def step(home: Home, settings: LLMSettings, gleaning: int = 0, source: str = "s") -> pa.Table | None:
    """Run the extraction once; return its rows when nothing is awaited any more."""
    account = Account("run", source, settings.max_cost_usd)
    opened = open_batched_chat_model if settings.mode == "batch" else _real_time
    async with opened(settings, home, account) as model:
        rows = await extract(
            source,
            chunks(*CONTENTS),
            model,
            load_prompts(None),
            ExtractionSettings(gleaning=gleaning),
            "fingerprint",
            1,
            count_tokens=len,
            longer_outputs=settings.longer_outputs,
        )
    return None if model.awaited else rows


def _real_time(settings: LLMSettings, home: Home, account: Account) -> Any:
    return open_chat_model(settings, home, "extract", account)


def finish(home: Home, settings: LLMSettings, gleaning: int = 0, most_steps: int = 12) -> tuple[pa.Table, int]:
    """Run it until it is done; return the rows and how many steps that took."""
    for number in range(1, most_steps + 1):
        rows = asyncio.run(step(home, settings, gleaning))
        if rows is not None:
            return rows, number
    raise AssertionError(f"not done after {most_steps} steps")


@pytest.fixture
def home(tmp_path: Any) -> Home:
    return Home(tmp_path / "home")


def answer(body: dict[str, Any]) -> str:
    return f"{entity(body['messages'][1]['content'][-40:-30])}\n{DONE}"


def test_everything_is_asked_once_and_costs_half(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer

    rows, steps = finish(home, llm())

    assert steps == 2
    assert rows["status"].to_pylist() == ["ok"] * 10
    assert len(loopback.batches.batches) == 1
    assert len(loopback.batches.asked()) == 10
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions")]
