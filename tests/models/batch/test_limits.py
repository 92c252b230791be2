"""Limits of batches: requests, bytes and tokens in one, tokens under way in all, and what a run may spend."""

import pytest

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Received, Reply
from tests.loopback_batches import Fate, SubmittedBatch
from tests.models.batch.steps import answer, finish, ledger_of, llm


@pytest.mark.parametrize("limit", [{"max_requests": 3}, {"max_bytes": 14_000}, {"enqueued_tokens": 4_000}])
def test_batches_keep_to_the_limits(loopback: Loopback, home: Home, limit: dict[str, int]) -> None:
    loopback.chat = answer

    rows, _ = finish(home, llm(**limit))

    batches = list(loopback.batches.batches.values())
    assert 3 <= len(batches) <= 8
    assert sorted(loopback.batches.asked()) == sorted(set(loopback.batches.asked()))
    assert all(len(batch.lines) <= limit.get("max_requests", 10) for batch in batches)
    assert all(len(loopback.batches.files[batch.file_id]) <= limit.get("max_bytes", 10**6) for batch in batches)
    assert all(batch.tokens <= limit.get("enqueued_tokens", 10**6) for batch in ledger_of(home))
    assert rows["status"].to_pylist() == ["ok"] * 10


def test_no_more_tokens_wait_at_the_provider_than_it_allows(loopback: Loopback, home: Home) -> None:
    under_way = []

    def note(batch: SubmittedBatch) -> Fate:
        others = [other for other in loopback.batches.batches.values() if not other.ended]
        under_way.append(len(others) + 1)
        return Fate(looks=2)

    loopback.chat, loopback.batches.spoil = answer, note

    rows, _ = finish(home, llm(max_requests=1, enqueued_tokens=4_000), most_steps=40)

    assert rows["status"].to_pylist() == ["ok"] * 10
    assert max(under_way) == max(2, 4_000 // ledger_of(home)[0].tokens)


@pytest.mark.parametrize("at_once", [True, False], ids=["refused at once", "refused later"])
def test_a_queue_without_room_is_tried_with_less(loopback: Loopback, home: Home, at_once: bool) -> None:
    """The provider's limit, of three requests, is nowhere in the settings."""

    def refuse(batch: SubmittedBatch) -> Fate:
        return Fate("failed", refusal="token_limit_exceeded") if len(batch.lines) > 3 else Fate()

    def refuse_at_once(received: Received) -> Reply | None:
        creating = received.path == "/v1/batches" and "input_file_id" in received.body
        if creating and loopback.batches.files[received.body["input_file_id"]].count(b"\n") > 3:
            return Reply.error(429, "token_limit_exceeded")
        return None

    loopback.chat = answer
    if at_once:
        loopback.fault = refuse_at_once
    else:
        loopback.batches.spoil = refuse

    rows, _ = finish(home, llm(max_attempts=1))

    assert rows["status"].to_pylist() == ["ok"] * 10
    refused = [batch.requests for batch in ledger_of(home) if batch.room]
    assert refused == [10, 5, 5]


def test_a_budget_is_kept_also_by_what_is_under_way(loopback: Loopback, home: Home) -> None:
    """A request may cost some $0.0001 and does cost $0.000011, so that a budget for one buys several, wave by wave."""
    loopback.chat = answer
    settings = llm().model_copy(update={"max_cost_usd": 0.00018})

    with pytest.raises(BudgetExceededError, match="raise --max-cost"):
        finish(home, settings, most_steps=30)

    spent = Ledger(home.ledger).spent("run")
    assert 0.00018 - max(batch.worst_usd for batch in ledger_of(home)) <= spent <= 0.00018
    assert 4 <= len(loopback.batches.asked()) < 10
