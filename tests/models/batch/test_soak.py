"""Extraction by batch when much goes wrong at once: every chunk is extracted, and no stored answer asked for again."""

import asyncio
import random
from collections import Counter
from itertools import cycle
from typing import Any

import pytest

from lightrag_dagster.models.batch import model as batch_model
from lightrag_dagster.models.batch.provider import QUEUE_FULL
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from tests.loopback import Answer, Loopback, Received, Reply
from tests.loopback_batches import BatchServer, Fate, SubmittedBatch
from tests.models.batch.steps import llm, step
from tests.stages.extraction.test_extractions import DONE, entity

CALLS = [Reply.error(429, retry_after_ms="20"), Reply.error(503, retry_after_ms="20")]
LINES = [(429, "rate_limit_exceeded"), (500, "server_error"), (503, "overloaded")]


class Weather:
    """Spoils a fifth of all calls and lines, but no request twice, or its chunk would fail for good."""

    def __init__(self, seed: int, server: BatchServer) -> None:
        self._server = server
        self._chance = random.Random(seed)
        self._spoilt: set[str] = set()
        self._kinds = cycle(["queue full", "expired", "lost", "lines", "slow"])
        self.faults: Counter[str] = Counter()

    def others_under_way(self) -> bool:
        return any(not batch.ended for batch in self._server.batches.values())

    def call(self, received: Received) -> Reply | None:
        if self._chance.random() >= 0.2:
            return None
        self.faults["call"] += 1
        return self._chance.choice(CALLS)

    def batch(self, batch: SubmittedBatch) -> Fate:
        kind = next(self._kinds)
        fresh = self._spoilt.isdisjoint(batch.keys)
        if kind == "expired" and fresh:
            self.faults[kind] += 1
            self._spoilt.update(batch.keys)
            return Fate("expired", answered=0.7, garbage=True)
        if kind == "queue full" and self.others_under_way():
            self.faults[kind] += 1
            return Fate("failed", refusal=QUEUE_FULL)
        failed = {}
        for number, key in enumerate(batch.keys):
            if kind == "lines" and key not in self._spoilt and self._chance.random() < 0.2:
                self._spoilt.add(key)
                failed[number] = self._chance.choice(LINES)
        self.faults[kind] += 1
        return Fate(failed=failed, looks=2 if kind == "slow" else 0, lost=kind == "lost", garbage=True)

    def chat(self, body: dict[str, Any]) -> str | Answer:
        text = str(body["messages"][1:])
        if self._chance.random() < 0.1 and text not in self._spoilt:
            self._spoilt.add(text)
            self.faults["answer"] += 1
            return self._chance.choice([Answer(""), Answer(entity("Cut"), "length"), Answer("I see nothing.")])
        return f"{entity(text[-200:-150])}\n{DONE}"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_every_chunk_is_extracted_and_nothing_stored_is_asked_again(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    weather, count = Weather(seed, loopback.batches), 200
    loopback.chat, loopback.batches.spoil, loopback.fault = weather.chat, weather.batch, weather.call
    contents = [f"Chunk number {number}." for number in range(count)]
    settings = llm()
    monkeypatch.setattr(batch_model, "MAX_REQUESTS", count // 5)
    stored: set[str] = set()
    again: set[str] = set()
    rows, seen = None, 0
    for _ in range(60):
        rows = asyncio.run(step(home, settings, gleaning=1, contents=contents))
        asked = loopback.batches.asked()
        again |= stored.intersection(asked[seen:])
        seen = len(asked)
        with ResponseStore(home.responses) as responses:
            stored |= set(responses.get_many(asked))
        if rows is not None:
            break

    assert rows is not None
    assert Counter(rows["status"].to_pylist()) == {"ok": count}
    assert not again
    assert weather.faults.keys() >= {"call", "lines", "answer", "expired", "lost", "queue full"}
