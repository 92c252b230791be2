"""Limits of batches: requests, bytes and tokens in one, tokens under way in all, and what a run may spend."""

import asyncio

import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message, Usage
from lightrag_dagster.errors import BudgetExceededError, ProviderAccessError, TransientProviderError
from lightrag_dagster.models.batch import model as batch_model
from lightrag_dagster.models.batch.ledger import PREPARED, UNDER_WAY, BatchLedger
from lightrag_dagster.models.batch.model import open_batched_chat_model
from lightrag_dagster.models.batch.provider import QUEUE_FULL, path_of_requests
from lightrag_dagster.settings.models import PriceSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Received, Reply
from tests.loopback_batches import Fate, SubmittedBatch
from tests.models.batch.steps import answer, finish, ledger_of, llm, step


@pytest.mark.parametrize(
    "limit",
    [
        {"MAX_REQUESTS": 3},
        pytest.param({"MAX_BYTES": 14_500}, marks=pytest.mark.long),
        pytest.param({"enqueued_tokens": 4_500}, marks=pytest.mark.long),
    ],
)
def test_batches_keep_to_the_limits(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, limit: dict[str, int]
) -> None:
    loopback.chat = answer
    quota = limit.get("enqueued_tokens")
    for name in limit.keys() - {"enqueued_tokens"}:
        monkeypatch.setattr(batch_model, name, limit[name])

    rows, _ = finish(home, llm(enqueued_tokens=quota))

    batches = list(loopback.batches.batches.values())
    assert 3 <= len(batches) <= 8
    assert sorted(loopback.batches.asked()) == sorted(set(loopback.batches.asked()))
    assert all(len(batch.lines) <= limit.get("MAX_REQUESTS", 10) for batch in batches)
    assert all(len(loopback.batches.files[batch.file_id]) <= limit.get("MAX_BYTES", 10**6) for batch in batches)
    assert all(batch.tokens <= (quota or 10**6) for batch in ledger_of(home))
    assert rows["status"].to_pylist() == ["ok"] * 10


@pytest.mark.long
def test_no_more_tokens_wait_at_the_provider_than_the_quota(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way = []

    def note(batch: SubmittedBatch) -> Fate:
        others = [other for other in loopback.batches.batches.values() if not other.ended]
        under_way.append(len(others) + 1)
        return Fate(looks=2)

    loopback.chat, loopback.batches.spoil = answer, note
    monkeypatch.setattr(batch_model, "MAX_REQUESTS", 1)

    rows, _ = finish(home, llm(enqueued_tokens=4_500), most_steps=40)

    assert rows["status"].to_pylist() == ["ok"] * 10
    assert max(under_way) == max(2, 4_500 // ledger_of(home)[0].tokens)


def refuse(loopback: Loopback, most: int, *, at_once: bool) -> None:
    """Let the provider's queue hold so many batches, which nothing in the settings says."""

    def full() -> bool:
        return sum(not batch.ended for batch in loopback.batches.batches.values()) >= most

    def refuse_at_once(received: Received) -> Reply | None:
        creating = received.path == "/v1/batches" and "input_file_id" in received.body
        return Reply.error(429, QUEUE_FULL) if creating and full() else None

    if at_once:
        loopback.fault = refuse_at_once
    loopback.batches.spoil = lambda batch: Fate("failed", refusal=QUEUE_FULL) if full() else Fate(looks=2)


@pytest.mark.long
@pytest.mark.parametrize("at_once", [True, False], ids=["refused at once", "refused later"])
def test_a_batch_that_the_full_queue_refused_is_submitted_when_another_has_ended(
    loopback: Loopback, home: Home, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    loopback.chat = answer
    refuse(loopback, 2, at_once=at_once)
    monkeypatch.setattr(batch_model, "MAX_REQUESTS", 2)
    assert asyncio.run(step(home, llm())) is None
    if not at_once:
        assert asyncio.run(step(home, llm())) is None
    assert sorted(batch.state for batch in ledger_of(home)) == [PREPARED] * 3 + [UNDER_WAY] * 2
    assert {batch.problem for batch in ledger_of(home)} == {None, QUEUE_FULL}

    rows, _ = finish(home, llm(), most_steps=40)

    assert rows["status"].to_pylist() == ["ok"] * 10
    answered = [key for batch in loopback.batches.batches.values() if batch.status == "completed" for key in batch.keys]
    assert len(answered) == len(set(answered)) == 10


@pytest.mark.parametrize(
    "at_once", [True, pytest.param(False, marks=pytest.mark.long)], ids=["refused at once", "refused later"]
)
def test_a_queue_that_is_full_of_other_batches_ends_the_run_and_is_tried_again(
    loopback: Loopback, home: Home, at_once: bool
) -> None:
    loopback.chat = answer
    refuse(loopback, 0, at_once=at_once)
    if not at_once:
        assert asyncio.run(step(home, llm())) is None
    with pytest.raises(ProviderAccessError, match=r"has no room for batch .* set llm\.enqueued_tokens"):
        asyncio.run(step(home, llm()))
    refuse(loopback, 1, at_once=at_once)

    rows, _ = finish(home, llm())

    assert rows["status"].to_pylist() == ["ok"] * 10
    assert [batch.requests for batch in ledger_of(home)] == [10]


BUDGETS = (
    ("max_cost_usd", "raise llm.max_cost_usd"),
    ("max_cost_per_day_usd", r"a day is used up: .* raise llm\.max_cost_per_day_usd"),
    ("max_cost_per_source_month_usd", r"a source and month is used up: .* raise llm\.max_cost_per_source_m"),
)


@pytest.mark.parametrize(
    ("any_home", "setting", "raised"),
    [
        pytest.param("SQLite", *BUDGETS[0], marks=pytest.mark.long),
        *(pytest.param("SQLite", *budget, marks=pytest.mark.long) for budget in BUDGETS[1:]),
        *(pytest.param("Postgres", *budget, marks=pytest.mark.long) for budget in BUDGETS[:-1]),
        ("Postgres", *BUDGETS[-1]),
    ],
    indirect=["any_home"],
)
def test_a_budget_is_kept_also_by_what_is_under_way(
    loopback: Loopback, any_home: Home, setting: str, raised: str
) -> None:
    """A request may cost some $0.00017 and does cost $0.0000135, so that a budget for one buys several, in waves."""
    loopback.chat = answer
    settings = llm().model_copy(update={setting: 0.00025})

    with pytest.raises(BudgetExceededError, match=raised):
        finish(any_home, settings, most_steps=30)

    spent = Ledger(any_home.ledger).spent("run")
    assert 0.00025 - max(batch.worst_usd for batch in ledger_of(any_home)) <= spent <= 0.00025
    assert 4 <= len(loopback.batches.asked()) < 10


def test_an_extraction_whose_budget_is_used_up_waits_for_the_next_run(loopback: Loopback, home: Home) -> None:
    """Else the sensor would try again and again with the money of the same run, and the nightly run leave it alone."""
    loopback.chat = answer
    with pytest.raises(BudgetExceededError):
        finish(home, llm(max_cost_usd=0.00025), most_steps=30)
    bought = len(loopback.batches.asked())
    with BatchLedger(home.batches) as ledger:
        assert (ledger.waiting(), ledger.due()) == ([], {})
    rows, _ = finish(home, llm())
    assert rows["status"].to_pylist() == ["ok"] * 10
    assert bought < len(loopback.batches.asked()) == 10


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("api.openai.com", "/v1/chat/completions"),
        ("127.0.0.1:8000", "/v1/chat/completions"),
        ("office.openai.azure.com", "/chat/completions"),
    ],
)
def test_batches_name_the_path_that_their_host_knows(host: str, path: str) -> None:
    assert path_of_requests(host) == path


def test_a_batch_for_which_others_have_spent_the_money_meanwhile_is_not_sent(loopback: Loopback, home: Home) -> None:
    loopback.chat = answer
    settings = llm(max_cost_per_day_usd=0.01)
    account = Account.of("run", "s", settings)
    other = Account("another run", max_cost_per_day_usd=0.01)

    async def ask() -> None:
        async with open_batched_chat_model(settings, home, account) as model:
            assert Ledger(home.ledger).reserve("other", other, 0.00999, 60.0) is None
            for _ in range(2):
                with pytest.raises(TransientProviderError):
                    await model.complete(ChatRequest("extract", (Message("user", "Text"),)))

    with pytest.raises(BudgetExceededError, match="a day is used up"):
        asyncio.run(ask())
    assert not loopback.requests
    assert ledger_of(home) == []
    Ledger(home.ledger).add(other.entry("extract", "m", Usage()), reserved="other")
    assert finish(home, settings)[0]["status"].to_pylist() == ["ok"] * 10


@pytest.mark.parametrize("forgotten", [False, True])
def test_answers_cost_what_the_model_that_gave_them_costs(loopback: Loopback, home: Home, forgotten: bool) -> None:
    """The settings may name another by the time they arrive, and have no price of the first any more."""
    loopback.chat = answer
    prices = {"dear": PriceSettings(input=10.0, output=40.0), "cheap": PriceSettings(input=0.1, output=0.4)}
    dear, cheap = (llm(prices=prices).model_copy(update={"model": name}) for name in prices)
    cheap = cheap.model_copy(update={"prices": {"cheap": prices["cheap"]} if forgotten else prices})
    asyncio.run(step(home, dear))
    asyncio.run(step(home, cheap))
    (booked,) = Ledger(home.ledger).costs(["model"])
    true = price_of(dear, batch=True).of(booked["input_tokens"], booked["output_tokens"])
    assert booked["cost_usd"] == pytest.approx(true)
    assert ledger_of(home)[0].cost_usd == pytest.approx(true)
    assert booked["model"].startswith("openai/dear?")
