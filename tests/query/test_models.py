from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.errors import (
    BudgetExceededError,
    EmbeddingError,
    ProviderAccessError,
    ProviderAwayError,
    QueryError,
    TransientProviderError,
)
from lightrag_dagster.query.models import Models, billed_to
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Vectors
from tests.loopback import Answer, Loopback, Reply

HELLO = ChatRequest("answer", (Message("user", "Hello"),))
LLM = LLMSettings(provider="openai", model="gpt-4o-mini", max_retries=0)
OFFLINE = Vectors(provider="offline", model="", dimensions=8, identity="", tables={})
AS_IT_IS = EmbeddingSettings.max_retries
EMBEDDING = EmbeddingSettings(provider="openai", model="m", dimensions=8)


@pytest.fixture
def models(loopback: Loopback, tmp_path: Path) -> Iterator[Callable[[str], Models]]:
    opened = []

    def open_models(embedder_identity: str) -> Models:
        settings = load_settings(home=tmp_path, llm=LLM, embedding=EMBEDDING)
        made = Vectors(provider="openai", model="m", dimensions=8, identity=embedder_identity, tables={})
        opened.append(Models(settings, made))
        return opened[-1]

    yield open_models
    for each in opened:
        each.close()


def test_an_answer_is_bought_once_even_by_many_threads(models: Callable[[str], Models], loopback: Loopback) -> None:
    loopback.chat = lambda body: "Hello to you."
    asked = models("")
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: asked.complete(HELLO).text, range(12)))
    assert answers == ["Hello to you."] * 12
    assert len(loopback.requests) == 1


def test_a_role_may_have_a_model_of_its_own(loopback: Loopback, tmp_path: Path) -> None:
    llm = LLMSettings.model_validate(
        {"provider": "openai", "model": "usual", "roles": {"keywords": {"model": "small"}}}
    )
    settings = load_settings(home=tmp_path, llm=llm)
    models = Models(settings, OFFLINE)
    models.complete(HELLO)
    models.complete(ChatRequest("keywords", HELLO.messages))
    assert "".join(models.stream(HELLO))
    models.close()
    assert [received.body["model"] for received in loopback.requests] == ["usual", "small", "usual"]


def test_calls_are_booked_under_the_purpose_of_their_role_streamed_answers_too(
    loopback: Loopback, tmp_path: Path
) -> None:
    models = Models(load_settings(home=tmp_path, llm=LLM), OFFLINE, Account("run-1"))
    models.complete(HELLO)
    models.complete(ChatRequest("keywords", HELLO.messages))
    assert "".join(models.stream(ChatRequest("answer", (Message("user", "Who?"),))))
    models.close()
    booked = Ledger(Home(tmp_path).ledger).by_purpose()
    assert {purpose: entry.calls for purpose, entry in booked.items()} == {"answer": 2, "keywords": 1}


@pytest.mark.parametrize("account", [None, Account("run-1")])
def test_a_streamed_answer_that_is_cut_off_is_said(
    loopback: Loopback, tmp_path: Path, caplog: pytest.LogCaptureFixture, account: Account | None
) -> None:
    models = Models(load_settings(home=tmp_path, llm=LLM), OFFLINE, account)
    for reason, said in (("stop", 0), ("length", 1)):
        loopback.chat = partial(lambda reason, _: Answer("It is", finish_reason=reason), reason)
        assert "".join(models.stream(ChatRequest("answer", (Message("user", reason),)))).strip() == "It is"
        assert caplog.text.lower().count("a streamed answer is cut off; raise l") == said
    models.close()


def test_accounts_of_one_process_share_calls_and_the_limit_of_requests(loopback: Loopback, tmp_path: Path) -> None:
    llm = LLM.model_copy(update={"max_concurrency": 1})
    models, loopback.delay = Models(load_settings(home=tmp_path, llm=llm), OFFLINE), 0.2

    def ask(asked: tuple[str, str]) -> str:
        with billed_to(Account(f"serve {asked[0]}", max_cost_usd=1.0)):
            return models.complete(ChatRequest("answer", (Message("user", asked[1]),))).text

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, [("a", "Who?"), ("b", "Who?"), ("a", "Where?"), ("b", "When?")]))
    entries = Ledger(Home(tmp_path).ledger).entries().to_pylist()  # before the models are closed
    models.close()
    assert (len(loopback.requests), loopback.peak) == (3, 1)
    assert sorted((one["run"], one["calls"] + one["stored"]) for one in entries) == sorted(
        [("serve a", 1), ("serve b", 1)] * 2
    )
    assert sum(one["calls"] for one in entries) == 3


def test_a_streamed_answer_stays_within_the_budget(loopback: Loopback, tmp_path: Path) -> None:
    models = Models(load_settings(home=tmp_path, llm=LLM), OFFLINE, Account("run-1", max_cost_usd=0.0))
    with pytest.raises(BudgetExceededError):
        list(models.stream(HELLO))
    models.close()
    assert loopback.requests == []


def test_questions_are_embedded_and_nothing_is_stored(
    models: Callable[[str], Models], loopback: Loopback, tmp_path: Path
) -> None:
    vectors = models("openai/m?dimensions=8").embed(["one", "two"], None)
    assert vectors.shape == (2, 8)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert list(tmp_path.iterdir()) == []


def test_vectors_of_another_embedder_are_no_match(models: Callable[[str], Models], loopback: Loopback) -> None:
    with pytest.raises(EmbeddingError, match=r"openai/other.*openai/m.*run"):
        models("openai/other").embed(["one"], None)
    assert loopback.requests == []


def test_an_error_of_the_endpoint_reaches_the_caller(models: Callable[[str], Models], loopback: Loopback) -> None:
    loopback.script.append(Reply.error(401))
    asked = models("")
    with pytest.raises(ProviderAccessError):
        asked.complete(HELLO)
    loopback.chat = lambda body: "Again."
    assert asked.complete(HELLO).text == "Again."


def test_questions_are_embedded_in_three_attempts_at_most(
    models: Callable[[str], Models], loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "max_retries", AS_IT_IS)  # which `loopback` replaces
    loopback.fault = lambda received: Reply.error(503, retry_after="0")
    with pytest.raises(TransientProviderError):
        models("openai/m?dimensions=8").embed(["one"], None)
    assert len(loopback.requests) == 3


def test_a_question_does_not_wait_longer_than_a_person(
    models: Callable[[str], Models], loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "max_retries", AS_IT_IS)
    loopback.fault = lambda received: Reply.error(429, retry_after="61")
    asked = models("openai/m?dimensions=8")
    for ask in (lambda: asked.complete(HELLO), lambda: asked.embed(["one"], None)):
        with pytest.raises(ProviderAwayError, match="asks to wait 61 s; run again then"):
            ask()
    assert len(loopback.requests) == 2


def test_what_is_closed_cannot_be_asked(models: Callable[[str], Models]) -> None:
    asked = models("")
    asked.close()
    asked.close()
    with pytest.raises(QueryError, match="closed; open it again"):
        asked.complete(HELLO)
    with pytest.raises(QueryError, match="closed; open it again"):
        next(asked.stream(HELLO))
