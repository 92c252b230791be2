import asyncio
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message, Usage
from lightrag_dagster.errors import (
    BudgetExceededError,
    LightRAGError,
    OutputLimitError,
    PermanentProviderError,
    StoreError,
)
from lightrag_dagster.models.providers import chat_identity, embedder_identity, open_chat_model, open_embedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from lightrag_dagster.settings.models import PriceSettings, RoleSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.conftest import API_KEY
from tests.loopback import Answer, Loopback, Received, Reply

LLM = LLMSettings(provider="openai", model="m1", max_retries=0)
EMBEDDING = EmbeddingSettings(provider="openai", model="m2", dimensions=8)
REQUEST = ChatRequest("answer", (Message("user", "Hi"),))


def _refuse(status: int, received: Received) -> Reply:
    return Reply.error(status, message=f"{API_KEY} req_77")


async def _ask(home: Home) -> tuple[str, int, str]:
    async with open_chat_model(LLM, home) as model:
        text = (await model.complete(REQUEST)).text
        return text, model.usage.calls, model.identity


async def _embed(home: Home) -> None:
    async with open_embedder(EMBEDDING, home) as embedder:
        await embedder.embed_documents(["text"])


@pytest.mark.parametrize(("purpose", "file", "use"), [("answer", "responses", _ask), ("embed", "vectors", _embed)])
def test_the_first_model_after_the_loss_of_a_store_says_so(
    tmp_path: Path,
    loopback: Loopback,
    caplog: pytest.LogCaptureFixture,
    purpose: str,
    file: str,
    use: Callable[[Home], Coroutine[object, object, object]],
) -> None:
    loopback.chat, home = lambda body: "Hello", Home(tmp_path)
    asyncio.run(use(home))
    assert caplog.messages == []
    Ledger(home.ledger).add(Account("run").entry(purpose, "a model", Usage(calls=1)))
    (tmp_path / f"{file}.sqlite").unlink()
    for _ in range(2):
        asyncio.run(use(home))
    (line,) = [one for one in caplog.messages if f"{file}.sqlite is missing" in one]
    assert "put it back from a backup" in line


@pytest.mark.parametrize(("limit", "model", "told"), [(5.0, "m1", True), (None, "m1", False), (5.0, "gpt-4o", False)])
@pytest.mark.parametrize("embeds", [False, True])
def test_a_limit_that_bounds_nothing_since_no_price_is_known_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, limit: float | None, model: str, told: bool, embeds: bool
) -> None:
    """Calls of such a model count as nothing, so that a run could spend any sum in silence."""
    account, home = Account("run", max_cost_usd=limit), Home(tmp_path)
    chosen = {"model": "text-embedding-3-small" if embeds and not told and limit else model}
    opened = (
        open_embedder(EMBEDDING.model_copy(update=chosen), home, account)
        if embeds
        else open_chat_model(LLM.model_copy(update=chosen), home, "extract", account)
    )

    async def run() -> None:
        async with opened:
            pass

    asyncio.run(run())
    section = "embedding" if embeds else "llm"
    line = f"the price of model {model} is not known, so that its calls count as nothing and no budget bounds them"
    assert caplog.messages == ([f"{line}; set {section}.prices"] if told else [])


def test_a_second_run_needs_neither_calls_nor_key_nor_server(
    any_home: Home, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = lambda body: "Hello"
    home = any_home

    async def vectors() -> tuple[object, Usage]:
        async with open_embedder(EMBEDDING, home) as embedder:
            assert embedder.identity == embedder_identity(EMBEDDING)
            documents, questions = await embedder.embed_documents(["a"]), await embedder.embed_queries(["a"])
            np.testing.assert_array_equal(documents, questions)
            return documents.tolist(), embedder.usage

    assert asyncio.run(_ask(home)) == ("Hello", 1, chat_identity(LLM))
    first, usage = asyncio.run(vectors())
    assert usage == Usage(calls=2, input_tokens=2)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert asyncio.run(_ask(home)) == ("Hello", 0, chat_identity(LLM))
    assert asyncio.run(vectors()) == (first, Usage(stored=2))
    assert len(loopback.requests) == 3


def test_the_limit_of_a_day_is_asked_of_the_ledger_before_each_call(any_home: Home, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Hello"
    priced = LLM.model_copy(update={"prices": {LLM.model: PriceSettings(input=1.0, output=1.0)}})
    worst = priced.max_output_tokens / 1e6

    async def ask(run: str) -> None:
        async with open_chat_model(priced, any_home, "answer", Account(run, max_cost_per_day_usd=1.5 * worst)) as model:
            await model.complete(REQUEST)

    ledger = Ledger(any_home.ledger)
    ledger.reserve("a process of another run", Account("0"), worst)
    with pytest.raises(BudgetExceededError, match="a day is used up"):
        asyncio.run(ask("1"))
    assert loopback.requests == []
    ledger.release_other_batches(set())
    asyncio.run(ask("2"))
    assert len(loopback.requests) == 1
    assert ledger.spent("2") > 0
    assert ledger.limits(Account("3", max_cost_per_day_usd=1.0))[0].spent == pytest.approx(ledger.spent("2"))


def test_a_model_that_is_open_over_midnight_has_an_entry_a_day(
    any_home: Home, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = lambda body: "Hello"
    priced = LLM.model_copy(update={"prices": {LLM.model: PriceSettings(input=1.0, output=1.0)}})
    limited = Account("1", max_cost_per_day_usd=1.5 * priced.max_output_tokens / 1e6)
    now = time.time()

    async def ask() -> None:
        async with open_chat_model(priced, any_home, "answer", limited) as model:
            for day in range(2):
                monkeypatch.setattr(time, "time", lambda day=day: now + day * 86_400)
                await model.complete(replace(REQUEST, attempt=day))

    asyncio.run(ask())
    rows = Ledger(any_home.ledger).entries().to_pylist()
    assert [row["calls"] for row in rows] == [1, 1]
    assert rows[1]["date"] - rows[0]["date"] == timedelta(days=1)
    assert Ledger(any_home.ledger).limits(limited)[0].spent == pytest.approx(rows[1]["cost_usd"])


def test_an_embedder_that_is_open_over_midnight_has_an_entry_a_day(
    any_home: Home, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced = EMBEDDING.model_copy(update={"prices": {EMBEDDING.model: PriceSettings(input=1.0, output=0.0)}})
    now = time.time()

    async def ask() -> None:
        async with open_embedder(priced, any_home, Account("1")) as embedder:
            for day in range(3):
                monkeypatch.setattr(time, "time", lambda day=day: now + day * 86_400)
                await embedder.embed_documents([f"text of day {day}"])

    asyncio.run(ask())
    rows = Ledger(any_home.ledger).entries().to_pylist()
    assert [row["calls"] for row in rows] == [1, 1, 1]
    assert all(row["cost_usd"] > 0 for row in rows)


EMPTY = Answer("", "length", usage={"prompt_tokens": 1_000, "completion_tokens": 50})
FILTERED = Answer("Text", "content_filter", usage={"prompt_tokens": 1_000, "completion_tokens": 50})


@pytest.mark.parametrize(
    ("replies", "tokens", "ending"),
    [
        ([EMPTY], 1_050, pytest.raises(OutputLimitError)),
        ([FILTERED], 1_050, pytest.raises(PermanentProviderError)),
        ([Answer(" ", usage=EMPTY.usage), Answer("Hello")], 1_050 + 120, nullcontext()),
    ],
)
def test_an_answer_of_no_use_costs_what_the_provider_tells(
    any_home: Home, loopback: Loopback, replies: list[Answer], tokens: int, ending: AbstractContextManager[object]
) -> None:
    said = iter(replies)
    loopback.chat = lambda body: next(said)
    prices = {LLM.model: PriceSettings(input=1.0, cached_input=1.0, output=1.0)}
    priced = LLM.model_copy(update={"prices": prices, "max_retries": 1})

    async def ask() -> None:
        async with open_chat_model(priced, any_home, "answer", Account("run")) as model:
            with ending:
                await model.complete(REQUEST)

    asyncio.run(ask())
    assert Ledger(any_home.ledger).spent("run") == pytest.approx(tokens / 1e6)


def _said(reason: str = "stop", **message: object) -> dict[str, object]:
    return {"object": "chat.completion", "choices": [{"finish_reason": reason, "message": message}]}


THOUGHT = {"content": "", "reasoning": "Hm"}


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (_said(content=""), 0),
        (_said("length", content=""), 0),
        (_said(**THOUGHT), 0),
        (b"{", 0),
        (_said(**THOUGHT) | {"usage": {"prompt_tokens": 20, "completion_tokens": 0}}, 20),
        (_said(**THOUGHT) | {"usage": {"prompt_tokens": 20, "completion_tokens": 5}}, 25),
        (_said(content="") | {"usage": {"prompt_tokens": 20, "completion_tokens": 0}}, 20),
        ({"error": {"code": 503}}, 0),
        (_said(content="") | {"error": {"code": 503}}, 0),
        (_said(content="") | {"error": {"code": 503}, "usage": {"prompt_tokens": 20}}, 20),
        ({"detail": "overloaded"}, 0),
        (None, 0),
        (b"<html>", 0),
    ],
)
def test_an_answer_of_no_use_costs_the_tokens_that_are_told(
    any_home: Home, loopback: Loopback, body: object, tokens: int
) -> None:
    loopback.script.append(Reply(body=body, headers={"content-type": "application/json"}))
    prices = {LLM.model: PriceSettings(input=1.0, output=1.0)}
    priced = LLM.model_copy(update={"prices": prices, "max_output_tokens": 1_000})

    async def ask() -> None:
        async with open_chat_model(priced, any_home, "answer", Account("run")) as model:
            await model.complete(REQUEST)

    with pytest.raises(LightRAGError):
        asyncio.run(ask())
    assert Ledger(any_home.ledger).spent("run") == pytest.approx(tokens / 1e6)


def test_attempts_that_take_too_long_count_with_the_most_they_can_cost_and_end_at_a_limit(
    any_home: Home, loopback: Loopback
) -> None:
    loopback.delay = 5.0
    prices = {LLM.model: PriceSettings(input=0.0, output=1.0)}
    priced = LLM.model_copy(
        update={"prices": prices, "timeout": 0.1, "max_retries": 5, "max_output_tokens": 1_000, "max_cost_usd": 0.0025}
    )

    async def ask() -> None:
        async with open_chat_model(priced, any_home, "answer", Account.of("run", "", priced)) as model:
            await model.complete(REQUEST)

    with pytest.raises(BudgetExceededError, match="was spent and the next call may cost"):
        asyncio.run(ask())
    assert len(loopback.requests) <= 2  # a busy machine may give one up before it is sent
    assert Ledger(any_home.ledger).spent("run") == pytest.approx(0.002)


def _all_asked(home: Home, limit: float, calls: int, **settings: object) -> list[str]:
    """Ask all at once with a limit of so many dollars, each call for at most one; return the ends, after a minute."""
    prices = {LLM.model: PriceSettings(input=0.0, output=1_000.0)}
    priced = LLM.model_copy(update={"prices": prices, "max_output_tokens": 1_000, **settings})

    async def ask() -> list[str]:
        async with open_chat_model(priced, home, "answer", Account("run", max_cost_usd=limit)) as model:
            asked = [model.complete(ChatRequest("answer", (Message("user", str(one)),))) for one in range(calls)]
            async with asyncio.timeout(60):
                ends = await asyncio.gather(*asked, return_exceptions=True)
            return [type(end).__name__ for end in ends]

    return asyncio.run(ask())


def test_calls_that_only_wait_for_a_place_keep_no_money_from_those_that_have_one(
    any_home: Home, loopback: Loopback
) -> None:
    """Attempts that are given up cost the most they can: the places would wait for money, and the money for a place."""
    loopback.fault = lambda received: Reply(delay=5.0) if len(loopback.requests) <= 2 else None
    loopback.chat = lambda body: "Hello"
    ends = _all_asked(any_home, 4.5, 4, max_concurrency=2, timeout=0.5, max_retries=8)
    assert ends == ["ChatResponse"] * 4


def test_a_forbidden_call_does_not_ask_those_that_wait_for_its_money(any_home: Home, loopback: Loopback) -> None:
    loopback.fault = lambda received: Reply.error(403)
    assert _all_asked(any_home, 1.5, 3, max_concurrency=3) == ["ProviderAccessError"] * 3


def test_a_failure_that_is_not_retried_needs_no_money_for_another_attempt(any_home: Home, loopback: Loopback) -> None:
    loopback.chat = lambda body: FILTERED
    priced = LLM.model_copy(
        update={"prices": {LLM.model: PriceSettings(input=0.0, output=1.0)}, "max_output_tokens": 1_000}
    )

    async def ask() -> None:
        account = Account("run", max_cost_usd=0.001)
        async with open_chat_model(priced, any_home, "answer", account) as model:
            await model.complete(REQUEST)

    with pytest.raises(PermanentProviderError, match="content filter"):
        asyncio.run(ask())
    assert Ledger(any_home.ledger).spent("run") == pytest.approx(50 / 1e6)


def test_an_embedder_that_does_not_answer_is_not_asked_beyond_a_limit(any_home: Home, loopback: Loopback) -> None:
    loopback.delay = 5.0
    prices = {EMBEDDING.model: PriceSettings(input=1.0, output=0.0)}
    slow = EMBEDDING.model_copy(update={"prices": prices, "timeout": 0.1})
    slow = slow.model_copy(update={"max_retries": 5})

    async def ask() -> None:
        async with open_embedder(slow, any_home, Account("run", max_cost_usd=2.5e-5)) as embedder:
            await embedder.embed_documents(["ten bytes."])

    with pytest.raises(BudgetExceededError):
        asyncio.run(ask())
    assert len(loopback.requests) <= 2  # a busy machine may give one up before it is sent
    assert Ledger(any_home.ledger).spent("run") == pytest.approx(2e-5)


SPEND = """
import asyncio, sys
from pathlib import Path
from pydantic import SecretStr
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending import budget
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.home import Home

async def ask(settings, home, name):
    async with open_chat_model(settings, home, "extract", Account.of("run", "", settings)) as model:
        for number in range(0, 400, 4):
            questions = [Message("user", f"{name} {number + one}") for one in range(4)]
            await asyncio.gather(*(model.complete(ChatRequest("extract", (one,))) for one in questions))

budget.LEASE_SECONDS = 2.0
root, database, settings, name = sys.argv[1:]
try:
    settings = LLMSettings.model_validate_json(settings)
    asyncio.run(ask(settings, Home(Path(root), SecretStr(database) if database else None), name))
except BudgetExceededError:
    pass
"""


@pytest.mark.long
@pytest.mark.parametrize("any_home", ["SQLite", "Postgres"], indirect=True)
def test_the_limit_of_a_run_holds_for_all_its_processes_though_one_is_killed(
    any_home: Home, loopback: Loopback
) -> None:
    """A call may cost 204 millionths of a dollar or so, and costs 120."""
    prices = {LLM.model: PriceSettings(input=1.0, output=1.0)}
    priced = LLM.model_copy(update={"prices": prices, "max_output_tokens": 200, "max_cost_usd": 0.012})
    database = any_home.database.get_secret_value() if any_home.database else ""
    loopback.delay = 0.05

    def start(name: str) -> subprocess.Popen[bytes]:
        arguments = [str(any_home.root), database, priced.model_dump_json(), name]
        return subprocess.Popen([sys.executable, "-c", SPEND, *arguments])

    workers = [start(name) for name in ("a", "b", "killed")]
    while sum("killed" in str(one.body) for one in loopback.requests) < 10 and workers[-1].poll() is None:
        time.sleep(0.01)
    workers[-1].kill()
    assert [worker.wait(60) for worker in workers] == [0, 0, -signal.SIGKILL]

    cost, worst = 0.00012 * len(loopback.requests), 0.00021
    assert 0.012 - 5 * worst < cost <= 0.012  # four calls of the killed one are set aside, and one did not fit
    assert start("resumed").wait(60) == 0
    assert len(loopback.requests) * 0.00012 == cost


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            LLMSettings(provider="openai", model="gpt-4o-mini"),
            LLMSettings(provider="openai", model="gpt-4o-mini", timeout=9, max_retries=1),
            True,
        ),
        (
            LLMSettings(provider="openai", model="gpt-4o-mini"),
            LLMSettings(provider="openai", model="gpt-4o-mini", max_concurrency=1),
            True,
        ),
        (LLMSettings(provider="openai", model="gpt-4o-mini"), LLMSettings(provider="openai", model="m"), False),
        (
            LLMSettings(provider="openai", model="gpt-4o-mini"),
            LLMSettings(provider="openai", model="gpt-4o-mini", temperature=1),
            False,
        ),
        (
            LLMSettings(provider="openai", model="gpt-4o-mini"),
            LLMSettings(provider="openai", model="gpt-4o-mini", max_output_tokens=9),
            False,
        ),
    ],
)
def test_the_identity_names_what_shapes_an_answer(one: LLMSettings, other: LLMSettings, same: bool) -> None:
    assert (chat_identity(one) == chat_identity(other)) is same


def test_the_identity_of_an_embedder_names_model_and_dimensions() -> None:
    choices: list[dict[str, object]] = [{}, {"model": "m"}, {"dimensions": 5}, {"max_input_tokens": 512}]
    settings = [EmbeddingSettings.model_validate({"provider": "openai"} | choice) for choice in choices]
    assert len({embedder_identity(each) for each in settings}) == 4
    assert embedder_identity(settings[0]) == "openai/text-embedding-3-small?dimensions=1024"


def test_a_role_has_the_identity_of_its_own_settings_or_the_general_one() -> None:
    general = LLMSettings(provider="openai", model="small")
    roles = {"summarise": RoleSettings(model="large"), "answer": RoleSettings(max_concurrency=2)}
    settings = general.model_copy(update={"roles": roles})
    assert chat_identity(settings.of("extract")) == chat_identity(general)
    assert chat_identity(settings.of("answer")) == chat_identity(general)
    assert chat_identity(settings.of("summarise")) == chat_identity(LLMSettings(provider="openai", model="large"))
    assert (settings.of("answer").max_concurrency, settings.of("extract").max_concurrency) == (2, 16)


def test_the_key_is_neither_stored_nor_shown(
    tmp_path: Path, loopback: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home(tmp_path)
    caplog.set_level("DEBUG")
    loopback.chat = lambda body: "Hello"
    asyncio.run(_ask(home))
    asyncio.run(_embed(home))
    shown = [chat_identity(LLM), embedder_identity(EMBEDDING)]
    for status in (400, 401, 403, 404, 429, 500):
        for call in (_ask, _embed):
            loopback.fault = partial(_refuse, status)
            with pytest.raises(LightRAGError) as raised:
                asyncio.run(call(Home(tmp_path / "other")))
            shown.append("".join(traceback.format_exception(raised.value)))
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(kept) >= 4
    assert all(API_KEY.encode() not in data for data in kept)
    assert all(API_KEY not in text and "req_77" not in text for text in shown)
    assert API_KEY not in caplog.text


def test_a_damaged_store_is_named(tmp_path: Path, loopback: Loopback) -> None:
    (tmp_path / "responses.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=r"responses\.sqlite is damaged"):
        asyncio.run(_ask(Home(tmp_path)))


def test_offline_vectors_are_not_stored(tmp_path: Path) -> None:
    async def embed() -> Usage:
        async with open_embedder(EmbeddingSettings(provider="offline"), Home(tmp_path)) as embedder:
            assert (await embedder.embed_documents(["text"])).shape == (1, embedder.dimensions)
            return embedder.usage

    assert asyncio.run(embed()) == Usage()
    assert not list(tmp_path.iterdir())
