"""Extraction under faults: every fifth request goes wrong, one way or another, and nothing is lost or paid twice."""

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.settings import ExtractionSettings, LLMSettings
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.storage.home import Home
from tests.loopback import Answer, Loopback, Received, Reply
from tests.stages.extraction.test_extractions import DONE, chunks, entity

LLM = LLMSettings(provider="openai", model="gpt-4o-mini", max_concurrency=32, timeout=2.0, max_output_tokens=100)
SHARE_OF_FAULTS = 0.2
REFUSED = [
    Reply.error(429, retry_after_ms="50"),
    Reply.error(429, "rate_limit_exceeded"),
    Reply.error(500),
    Reply.error(503, retry_after="1"),
    Reply.error(529),
    Reply.broken(),
    Reply.html("text/html"),
    Reply.html("application/json"),
    Reply(body={"choices": []}),
    Reply(body=["garbage"]),
    Reply(status=502, body=b"<html>Bad gateway</html>", headers={"content-type": "text/html"}),
]
ANSWERED = ["cut", "prose", "empty"]


class Weather:
    """Decides what goes wrong with which request, and remembers which questions got an answer to keep."""

    def __init__(self, seed: int, timeout: float = LLM.timeout) -> None:
        self._chance = random.Random(seed)
        self._slow = [Reply.dripping(0.1), Reply(status=504, body={}, delay=1.5 * timeout)]
        self._spoilt: set[str] = set()
        self.faults: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()

    def fault(self, received: Received) -> Reply | None:
        """Refuse some requests outright."""
        if self._chance.random() >= SHARE_OF_FAULTS * 0.8:
            return None
        # Slow ones are few: each holds a place for as long as the timeout.
        kind = self._chance.choice(self._slow if self._chance.random() < 0.05 else REFUSED)
        self.faults["slow" if kind in self._slow else "refused"] += 1
        return kind

    def chat(self, body: dict[str, Any]) -> Answer:
        """Answer, but spoil some answers; never twice for one question, or its chunk would fail for good."""
        messages = json.dumps(body["messages"])
        answer = Answer(_records(body["messages"]))
        if messages not in self._spoilt and self._chance.random() < SHARE_OF_FAULTS * 0.2:
            self._spoilt.add(messages)
            kind = self._chance.choice(ANSWERED)
            self.faults[kind] += 1
            if kind == "empty":  # never stored
                return Answer(" ")
            if kind == "prose":  # stored, and asked once more as the second attempt
                return Answer("I would rather not.")
            answer = Answer(answer.text, finish_reason="length")
        self.kept[f"{body['max_tokens']} {messages}"] += 1
        return answer


def _records(messages: list[dict[str, str]]) -> str:
    """Return an entity named after the chunk, and nothing more in later rounds."""
    if len(messages) > 2:
        return DONE
    number = messages[1]["content"].rpartition("Number ")[2].partition(".")[0]
    return entity(f"Thing {number}") + DONE


async def _extract(home: Home, table: pa.Table, llm: LLMSettings = LLM) -> pa.Table:
    async with open_chat_model(llm, home) as model:
        return await extract(
            "s",
            table,
            Extractor(
                model,
                load_prompts(None),
                ExtractionSettings(),
                "f1",
                len,
                LLM.max_concurrency,
                LLM.longer_outputs,
            ),
        )


# An answer that a busy machine gives later than the timeout is paid for twice.
@pytest.mark.parametrize(("count", "timeout"), [(40, 2.0), pytest.param(2000, 20.0, marks=pytest.mark.long)])
def test_every_chunk_is_extracted_and_no_stored_answer_asked_for_again(
    loopback: Loopback, tmp_path: Path, count: int, timeout: float
) -> None:
    weather = Weather(count, timeout)
    loopback.fault, loopback.chat = weather.fault, weather.chat
    table = chunks(*(f"Number {number}." for number in range(count)))

    rows = asyncio.run(_extract(Home(tmp_path), table, LLM.model_copy(update={"timeout": timeout})))

    share = weather.faults.total() / len(loopback.requests)
    print(f"{count} chunks, {len(loopback.requests)} requests, {share:.1%} faults: {dict(weather.faults)}")  # noqa: T201
    assert rows["status"].to_pylist() == ["ok"] * count
    assert rows["error"].null_count == count
    first_round = {responses[0] for responses in rows["responses"].to_pylist()}
    assert first_round == {entity(f"Thing {number}") + DONE for number in range(count)}
    # Threads ask in any order, so chance deals few requests any share.
    assert weather.faults.total() > 0
    assert share == pytest.approx(SHARE_OF_FAULTS, abs=0.06) or count < 1000
    assert set(weather.faults) == {"refused", "slow", *ANSWERED} or count < 1000
    assert set(weather.kept.values()) == {1}
    sent = len(loopback.requests)
    assert asyncio.run(_extract(Home(tmp_path), table)).equals(rows)
    assert len(loopback.requests) == sent


@pytest.mark.long
@pytest.mark.parametrize("refusal", [Reply.error(401, "invalid_api_key"), Reply.error(429, "insufficient_quota")])
def test_a_refused_key_or_quota_ends_the_run_at_once_and_keeps_what_arrived(
    loopback: Loopback, tmp_path: Path, refusal: Reply
) -> None:
    table = chunks(*(f"Number {number}." for number in range(50)))
    loopback.chat = lambda body: _records(body["messages"])
    loopback.delay = 0.01
    loopback.fault = lambda received: refusal if len(loopback.requests) > 45 else None

    with pytest.raises(ProviderAccessError, match=r"OPENAI_API_KEY|what has arrived is kept"):
        asyncio.run(_extract(Home(tmp_path), table))

    refused = len(loopback.requests) - 45
    assert 0 < refused <= LLM.max_concurrency
    loopback.fault = lambda received: None
    assert asyncio.run(_extract(Home(tmp_path), table))["status"].to_pylist() == ["ok"] * 50
    answered = 2 * len(table)
    # What was on its way when the run ended may be asked again.
    assert answered <= len(loopback.requests) - refused <= answered + LLM.max_concurrency
