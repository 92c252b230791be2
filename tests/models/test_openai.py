"""The real openai client against a server on the loopback interface."""

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
import openai
import pytest
from tenacity import wait_fixed

from lightrag_dagster.core.attempts import paying
from lightrag_dagster.core.progress import listening
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message, Usage, Vectors
from lightrag_dagster.core.roles import Role
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import (
    EmbeddingError,
    OutputLimitError,
    PermanentProviderError,
    ProviderAccessError,
    ProviderAwayError,
    ProviderError,
    TransientProviderError,
)
from lightrag_dagster.models import openai_client, openai_embeddings
from lightrag_dagster.models.openai_chat import OpenAIChatModel, request_body
from lightrag_dagster.models.openai_embeddings import OpenAIEmbedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from tests.conftest import API_KEY
from tests.loopback import Answer, Loopback, Received, Reply, unused_port


@pytest.fixture(autouse=True)
def _nothing_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_embeddings, "_encodings", {})


Model = TypeVar("Model", bound=OpenAIChatModel | OpenAIEmbedder)
REQUEST = ChatRequest("extract", (Message("system", "Rules"), Message("user", "Text")))


def chat(request: ChatRequest = REQUEST, **settings: Any) -> ChatResponse:
    async def run() -> ChatResponse:
        model = OpenAIChatModel(
            LLMSettings.model_validate({"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0} | settings)
        )
        async with _closing(model):
            return await model.complete(request)

    return asyncio.run(run())


def embed(texts: list[str], usage: Usage | None = None, **settings: Any) -> Vectors:
    async def run() -> Vectors:
        chosen: dict[str, Any] = {"model": "small-model", "dimensions": 8} | settings
        embedder = OpenAIEmbedder(EmbeddingSettings(provider="openai", **chosen), usage or Usage())
        async with _closing(embedder):
            return await embedder.embed_documents(texts)

    return asyncio.run(run())


def embed_question(texts: list[str]) -> Vectors:
    async def run() -> Vectors:
        embedder = OpenAIEmbedder(EmbeddingSettings(provider="openai", model="m", dimensions=8), Usage())
        async with _closing(embedder):
            return await embedder.embed_queries(texts)

    return asyncio.run(run())


@asynccontextmanager
async def _closing(model: Model) -> AsyncIterator[Model]:
    try:
        yield model
    finally:
        await model.close()


def test_a_request_says_what_the_settings_say(loopback: Loopback) -> None:
    loopback.chat = lambda body: Answer("Hello \ud83d there")
    response = chat(model="small", temperature=0.5, max_output_tokens=77)
    assert response == ChatResponse("Hello ? there", "stop", 100, 20, 64, 0.0)
    body = loopback.requests[0].body
    assert body == {
        "model": "small",
        "messages": [{"role": "system", "content": "Rules"}, {"role": "user", "content": "Text"}],
        "temperature": 0.5,
        "max_tokens": 77,
    }
    assert loopback.requests[0].headers["authorization"] == f"Bearer {API_KEY}"


def test_a_request_can_set_its_own_limit(loopback: Loopback) -> None:
    chat(ChatRequest("extract", REQUEST.messages, max_output_tokens=5))
    assert loopback.requests[0].body["max_tokens"] == 5


@pytest.mark.parametrize("model", ["o3-mini", "gpt-5.2", "openai/gpt-5-mini"])
def test_reasoning_models_get_the_parameters_they_take(loopback: Loopback, model: str) -> None:
    chat(model=model, max_output_tokens=77)
    body = loopback.requests[0].body
    assert body["max_completion_tokens"] == 77
    assert not body.keys() & {"temperature", "max_tokens"}


def test_missing_usage_is_estimated(loopback: Loopback) -> None:
    loopback.chat = lambda body: Answer("Hello", finish_reason="length", usage={})
    assert chat() == ChatResponse("Hello", "length", input_tokens=18, output_tokens=2)


STATUS_ERRORS: list[tuple[Reply, type[ProviderError], str]] = [
    (
        Reply.error(400),
        PermanentProviderError,
        r"request refused by 127.*m1\); check LIGHTRAG_LLM__MODEL and the text",
    ),
    (Reply.error(400, "string_above_max_length"), PermanentProviderError, "code string_above_max_length;"),
    (Reply.error(400, "context_length_exceeded"), PermanentProviderError, "LIGHTRAG_CHUNKING__SIZE"),
    (Reply.error(400, message="maximum context length is 9"), PermanentProviderError, "LIGHTRAG_CHUNKING__SIZE"),
    (Reply.error(413), PermanentProviderError, "LIGHTRAG_CHUNKING__SIZE"),
    (Reply.error(400, "content_filter"), PermanentProviderError, "content filter"),
    (Reply.error(422), PermanentProviderError, "HTTP 422"),
    (Reply.error(400, "unsupported_value"), ProviderAccessError, "LIGHTRAG_LLM__MODEL"),
    (
        Reply.error(401, "invalid_api_key", f"Incorrect API key provided: {API_KEY}"),
        ProviderAccessError,
        "OPENAI_API_KEY",
    ),
    (Reply.error(403), ProviderAccessError, "OPENAI_API_KEY"),
    (Reply.error(402), ProviderAccessError, "add credit"),
    (Reply.error(404, "model_not_found"), ProviderAccessError, r"code model_not_found; check LIGHTRAG_LLM__MODEL"),
    (Reply.error(404), ProviderAccessError, "OPENAI_BASE_URL"),
    (Reply.error(429, "insufficient_quota"), ProviderAccessError, "add credit"),
    (Reply.error(429, "rate_limit_exceeded"), TransientProviderError, "LIGHTRAG_LLM__MAX_CONCURRENCY"),
    *(
        (
            Reply.error(status, location="http://127.0.0.1:1/v1"),
            ProviderAccessError,
            rf"HTTP {status}, model m1\) redirects .*set OPENAI_BASE_URL to that one, then run again",
        )
        for status in (300, 301, 302, 303, 304, 307, 308, 399)
    ),
    *(
        (Reply.error(status), TransientProviderError, rf"unexpected reply .*HTTP {status}.*OPENAI_BASE_URL, then run")
        for status in (405, 406, 410, 415, 418, 421, 431, 451, 499)
    ),
    (Reply.error(408), TransientProviderError, "HTTP 408"),
    (Reply.error(409), TransientProviderError, "HTTP 409"),
    (Reply.error(500, message=f"{API_KEY} req_123"), TransientProviderError, "HTTP 500"),
    (Reply.error(503), TransientProviderError, "temporary failure"),
    (Reply(500, b"<html>", {"content-type": "text/html"}), TransientProviderError, "HTTP 500"),
    (Reply.html("application/json"), ProviderAccessError, "not JSON that can be read; check OPENAI_BASE_URL"),
    (Reply.html("text/html"), ProviderAccessError, "not JSON that can be read"),
    (Reply(body={"error": "boom"}), TransientProviderError, r"failure of 127.* \(an error in its answer, model m1\)"),
    (Reply(body={"error": {"code": 503}}), TransientProviderError, "HTTP 503"),
    (
        Reply(body={"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [{"id": "call_1"}]}}]}),
        TransientProviderError,
        "it is empty",
    ),
    (Reply(body={}), TransientProviderError, "not shaped"),
    (Reply(body=[]), TransientProviderError, "not shaped"),
    (Reply(body={"choices": []}), TransientProviderError, "not shaped"),
    (Reply(body={"choices": [{"finish_reason": "stop"}]}), TransientProviderError, "not shaped"),
    (Reply(body={"choices": ["text"]}), TransientProviderError, "not shaped"),
    (Reply.broken(), TransientProviderError, "connection to 127.* broke"),
]


@pytest.mark.parametrize(("reply", "kind", "says"), STATUS_ERRORS)
def test_an_error_is_explained_without_the_servers_words(
    loopback: Loopback, reply: Reply, kind: type[ProviderError], says: str
) -> None:
    loopback.script.append(reply)
    with pytest.raises(kind, match=says) as raised:
        chat(model="m1")
    assert type(raised.value) is kind
    assert loopback.host in str(raised.value)
    assert "m1" in str(raised.value)
    shown = "".join(traceback.format_exception(raised.value))
    assert API_KEY not in shown
    assert "req_123" not in shown
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (Answer(None), TransientProviderError, "it is empty; if others are too, set LIGHTRAG_LLM__MODEL"),
        (Answer(" \n"), TransientProviderError, "it is empty"),
        (Answer("", "length"), PermanentProviderError, "LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"),
        (Answer(None, refusal="I must not"), PermanentProviderError, "refused to answer"),
        (Answer("half of", "content_filter"), PermanentProviderError, "content filter"),
    ],
)
def test_an_answer_without_text_is_an_error(
    loopback: Loopback, answer: Answer, kind: type[ProviderError], says: str
) -> None:
    loopback.chat = lambda body: answer
    with pytest.raises(kind, match=says):
        chat()


@pytest.mark.parametrize("role", ["answer", "summarise", "describe"])
def test_prose_comes_without_its_reasoning(loopback: Loopback, role: Role) -> None:
    request = replace(REQUEST, role=role)
    answers = [Answer("<think>maybe [2]</think>ok [1]"), Answer("maybe [2]</think>ok [1]"), Answer("ok <think>")]
    loopback.chat = lambda body: answers[len(loopback.requests) - 1]
    assert [chat(request).text for _ in answers] == ["ok [1]", "ok [1]", "ok <think>"]
    loopback.chat = lambda body: Answer("<think>hm", "length")
    with pytest.raises(OutputLimitError, match="LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"):
        chat(request)
    loopback.chat = lambda body: "<think>hm</think>"
    with pytest.raises(TransientProviderError, match="the model only reasoned"):
        chat(request)


def test_a_timeout_names_the_setting(loopback: Loopback) -> None:
    loopback.delay = 1.0
    with pytest.raises(TransientProviderError, match=r"within 0.3 s; .*LIGHTRAG_LLM__TIMEOUT"):
        chat(timeout=0.3)


def test_a_timeout_of_an_embedder_names_the_size_of_its_batches(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.delay = 1.0
    monkeypatch.setattr(EmbeddingSettings, "timeout", 0.3)
    with pytest.raises(TransientProviderError, match=r"within 0.3 s; .*lower LIGHTRAG_EMBEDDING__BATCH_SIZE"):
        embed(["text"])


def test_a_reply_that_drips_is_not_waited_for_longer_than_one_that_does_not_come(loopback: Loopback) -> None:
    loopback.script.append(Reply.dripping(0.05))
    started = time.monotonic()
    with pytest.raises(TransientProviderError, match=r"did not answer within 0.4 s"):
        chat(timeout=0.4)
    assert time.monotonic() - started < 5


AGAIN = {"retry_after_ms": "10"}


@pytest.mark.parametrize(
    "replies",
    [
        [Reply.error(429, **AGAIN), Reply.error(503, **AGAIN)],
        [Reply.error(429, retry_after_ms="inf"), Reply.error(429, retry_after_ms="nan")],
        [Reply.html("text/html")],
        [Reply.broken()],
    ],
)
def test_what_may_pass_is_tried_again(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, replies: list[Reply]
) -> None:
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0.01))
    monkeypatch.setattr(openai_client, "_JITTER", wait_fixed(0))
    loopback.script.extend(replies)
    loopback.chat = lambda body: "Hello"
    assert chat(max_retries=2).text == "Hello"
    assert len(loopback.requests) == len(replies) + 1


@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (Reply.error(503, **AGAIN), 3),
        (Reply.error(429, retry_after="3600"), 1),
        (Reply.error(503, retry_after="Wed, 21 Oct 2099 07:28:00 GMT"), 1),
        (Reply.error(429, "insufficient_quota"), 1),
        (Reply.error(400), 1),
        (Reply.error(401), 1),
    ],
)
def test_attempts_are_bounded_and_none_is_wasted(loopback: Loopback, reply: Reply, requests: int) -> None:
    loopback.fault = lambda received: reply
    with pytest.raises(ProviderError):
        chat(max_retries=2)
    assert len(loopback.requests) == requests


@pytest.mark.parametrize(
    ("header", "least"),
    [
        pytest.param({"retry_after": "1"}, 0.95, marks=pytest.mark.long),
        ({"retry_after_ms": "900"}, 0.85),
        ({"retry_after_ms": "soon", "retry_after": "1.1"}, 1.05),
        pytest.param({"retry_after": "soon"}, 0.45, marks=pytest.mark.long),
    ],
)
def test_the_server_says_how_long_to_wait(loopback: Loopback, header: dict[str, str], least: float) -> None:
    """Left to itself the client would wait 0.5 to 0.75 s."""
    loopback.script.append(Reply.error(429, **header))
    chat(max_retries=1)
    first, second = (received.arrived for received in loopback.requests)
    assert second - first >= least


@pytest.mark.long
def test_a_call_that_waits_keeps_its_place(loopback: Loopback) -> None:
    """So an overloaded server is asked less; the SDK itself would cut the wait short."""
    loopback.script.append(Reply.error(429, retry_after="1"))

    async def both() -> None:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="gpt-4o-mini", max_concurrency=1))
        await asyncio.gather(*(model.complete(ChatRequest("extract", (Message("user", text),))) for text in "ab"))
        await model.close()

    asyncio.run(both())
    first, *others = (received.arrived for received in loopback.requests)
    assert len(others) == 2
    assert min(others) - first >= 0.95


def test_a_redirect_is_not_followed(loopback: Loopback) -> None:
    """Documents go to the host that the settings name."""
    loopback.script.append(Reply.error(307, location=f"{loopback.url}/elsewhere/chat/completions"))
    with pytest.raises(ProviderError, match="HTTP 307"):
        chat(REQUEST, max_retries=0)
    assert len(loopback.requests) == 1


def test_a_wait_that_is_too_long_ends_the_run(loopback: Loopback) -> None:
    loopback.script.append(Reply.error(429, retry_after="601"))
    with pytest.raises(ProviderAccessError, match=r"asks to wait 601 s; run again then: what has arrived is kept"):
        chat(max_retries=5)
    assert len(loopback.requests) == 1


@pytest.mark.parametrize(
    ("reply", "bills"),
    [
        (Reply.error(401), []),
        (Reply.error(402), []),
        (Reply.error(404, "model_not_found"), []),
        (Reply.error(429, "insufficient_quota"), []),
        (Reply.html("text/html"), []),
        (Reply.error(400), [None]),
        (Reply.error(500), [None]),
    ],
)
def test_calls_given_up_beside_one_that_shows_that_none_can_pass_are_free(
    loopback: Loopback, reply: Reply, bills: list[None]
) -> None:
    loopback.script.extend([replace(reply, delay=0.2), Reply(delay=0.8)])
    billed: list[ChatResponse | None] = []

    async def afford() -> None:
        pass

    async def run() -> None:
        async with _closing(OpenAIChatModel(LLMSettings(provider="openai", model="m", max_retries=0))) as model:
            calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(2)]
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        while loopback.open:  # the next test counts its requests
            await asyncio.sleep(0.02)

    with paying(billed.append, afford):
        asyncio.run(run())
    assert billed == bills


@pytest.fixture
def failing_twice(monkeypatch: pytest.MonkeyPatch) -> Callable[[], type[ProviderError]]:
    """Make a call that fails, with two attempts and no wait, and return the kind of its error."""
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0))
    monkeypatch.setattr(openai_client, "_JITTER", wait_fixed(0))

    def fail() -> type[ProviderError]:
        with pytest.raises(ProviderError) as raised:
            chat(max_retries=1)
        return type(raised.value)

    return fail


FailTwice = Callable[[], type[ProviderError]]


def test_an_endpoint_that_answers_nothing_is_asked_no_more(loopback: Loopback, failing_twice: FailTwice) -> None:
    loopback.fault = lambda received: Reply.error(500)
    assert [failing_twice() for _ in range(9)] == [TransientProviderError] * 9
    with pytest.raises(ProviderAwayError) as raised:
        chat(max_retries=1)
    assert str(raised.value) == (
        f"10 requests in a row to {loopback.host} failed (model gpt-4o-mini), and a short one after them: temporary "
        f"failure of {loopback.host} (HTTP 500, model gpt-4o-mini); run again later; what arrived is kept"
    )
    assert len(loopback.requests) == 10 * 2 + 2
    assert failing_twice() is TransientProviderError  # the next run counts from the beginning


def test_texts_at_which_an_endpoint_fails_end_nothing(loopback: Loopback, failing_twice: FailTwice) -> None:
    loopback.fault = lambda received: Reply.error(500) if "Rules" in str(received.body) else None
    billed: list[ChatResponse | None] = []

    async def afford() -> None:
        pass

    with paying(billed.append, afford):
        assert [failing_twice() for _ in range(21)] == [TransientProviderError] * 21
    assert [one and one.output_tokens for one in billed] == [20, 20]  # of the short requests, which are paid for


def test_an_answer_or_a_limit_ends_no_run(loopback: Loopback, failing_twice: FailTwice) -> None:
    loopback.fault = lambda received: Reply.error(503)
    assert [failing_twice() for _ in range(9)] == [TransientProviderError] * 9
    loopback.fault = lambda received: Reply.error(429, **AGAIN)
    assert [failing_twice() for _ in range(11)] == [TransientProviderError] * 11
    loopback.fault, loopback.chat = lambda received: None, lambda body: "Hello"
    chat()
    loopback.fault = lambda received: Reply.error(503)
    assert [failing_twice() for _ in range(9)] == [TransientProviderError] * 9


def test_a_short_request_has_all_its_attempts_and_an_answer_of_no_use_is_one(
    loopback: Loopback, failing_twice: FailTwice
) -> None:
    faults = iter([Reply.error(500)])  # at the first short request
    loopback.fault = lambda received: Reply.error(500) if "Rules" in str(received.body) else next(faults, None)
    loopback.chat = lambda body: ""
    assert [failing_twice() for _ in range(21)] == [TransientProviderError] * 21


def test_questions_are_not_told_of_other_requests(loopback: Loopback, failing_twice: FailTwice) -> None:
    loopback.fault = lambda received: Reply.error(500)
    for _ in range(11):
        with pytest.raises(TransientProviderError):
            chat(ChatRequest("answer", (Message("user", "Who?"),)), max_retries=1)
    assert len(loopback.requests) == 22


@pytest.mark.parametrize("reply", [Reply.error(502), Reply.error(504), Reply.broken(), Reply(delay=0.3)])
def test_calls_of_many_threads_count_together(loopback: Loopback, reply: Reply) -> None:
    """Each has an endpoint of its own, as the sources of a run have; a time-out is billed at its most."""
    loopback.fault = lambda received: reply
    billed: list[ChatResponse | None] = []

    def fail(_: int) -> type[BaseException]:
        with paying(billed.append, afford), pytest.raises(ProviderError) as raised:
            chat(timeout=0.1 if reply.delay else 20)
        return type(raised.value)

    async def afford() -> None:
        pass

    with ThreadPoolExecutor(4) as threads:
        kinds = Counter(threads.map(fail, range(10)))
    assert kinds == {TransientProviderError: 9, ProviderAwayError: 1}
    assert billed == [None] * (11 if reply.delay else 0)


def test_an_overloaded_server_is_asked_less(loopback: Loopback) -> None:
    """It takes two requests at once and refuses the others, without saying for how long."""
    loopback.delay = 0.02
    loopback.fault = lambda received: Reply.error(429) if loopback.open > 2 else None

    async def run() -> int:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="gpt-4o-mini", max_concurrency=16))
        async with _closing(model):
            answers = await asyncio.gather(*(model.complete(REQUEST) for _ in range(30)))
        return len(answers)

    assert asyncio.run(run()) == 30
    assert len(loopback.requests) < 30 + 30


def notes_of(calls: int = 1, delay: float = 0.0, **settings: Any) -> list[str]:
    """Return the notes in the progress while so many calls are made at once, and for `delay` seconds after them."""
    notes: list[str] = []

    async def run() -> None:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="gpt-4o-mini", **settings))
        async with _closing(model):
            await asyncio.gather(*(model.complete(REQUEST) for _ in range(calls)))
            await asyncio.sleep(delay)

    with listening(lambda stage, done, total: None, notes.append):
        asyncio.run(run())
    return notes


def test_the_progress_says_that_a_call_is_tried_again(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0.01))
    loopback.script.extend([Reply.error(503, **AGAIN), Reply.broken()])
    waiting = f"waiting for {loopback.host}, attempt"
    assert notes_of(max_retries=4) == [f"{waiting} 2 of 5", f"{waiting} 3 of 5", ""]


def test_the_progress_says_that_an_endpoint_is_silent(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "_SILENCE_SECONDS", 0.1)
    loopback.delay = 0.4
    assert notes_of(calls=3, max_retries=0) == [f"waiting for {loopback.host}, attempt 1 of 1", ""]


def test_an_endpoint_that_answers_or_is_not_asked_is_not_silent(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_client, "_SILENCE_SECONDS", 0.3)
    loopback.delay = 0.05
    assert notes_of(calls=10, delay=0.5, max_concurrency=1) == []


def test_an_answer_can_be_streamed(loopback: Loopback) -> None:
    loopback.script.append(Reply.error(503, **AGAIN))
    loopback.chat = lambda body: "One two three"

    async def stream() -> list[str]:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="gpt-4o-mini"))
        pieces = [piece async for piece in model.stream(ChatRequest("answer", (Message("user", "Go"),)))]
        await model.close()
        return pieces

    assert asyncio.run(stream()) == ["One ", "two ", "three "]


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (ChatRequest("extract", ()), None),
        (ChatRequest("extract", (), json_answer=True), {"type": "json_object"}),
        (
            ChatRequest("extract", (), json_answer=True, answer_schema={"type": "object"}),
            {"type": "json_schema", "json_schema": {"name": "extract", "schema": {"type": "object"}, "strict": True}},
        ),
    ],
)
def test_a_request_asks_for_json_as_the_api_wants_it(request_: ChatRequest, wanted: object) -> None:
    assert request_body(LLMSettings(), request_).get("response_format") == wanted


def test_what_the_settings_add_is_part_of_the_body() -> None:
    """In a batch the SDK does not take it out of `extra_body`."""
    body = request_body(LLMSettings(extra_body={"reasoning_effort": "low", "temperature": 0.3}), REQUEST)
    assert (body["reasoning_effort"], body["temperature"]) == ("low", 0.3)
    assert "extra_body" not in body


def test_no_more_requests_are_in_flight_than_allowed(loopback: Loopback) -> None:
    loopback.delay = 0.05

    async def run() -> None:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="gpt-4o-mini", max_concurrency=3))
        async with _closing(model):
            await asyncio.gather(*(model.complete(REQUEST) for _ in range(10)))

    asyncio.run(run())
    assert loopback.peak == 3
    assert len(loopback.requests) == 10


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://user:hunter2@127.0.0.1:{port}/v1", r"^127\.0\.0\.1:{port} cannot be reached"),
        ("http://nowhere.invalid/v1", "^nowhere.invalid cannot be reached"),
    ],
)
def test_an_endpoint_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, url: str, says: str) -> None:
    port = str(unused_port())
    monkeypatch.setenv("OPENAI_BASE_URL", url.replace("{port}", port))
    with pytest.raises(ProviderAccessError, match=says.replace("{port}", port)) as raised:
        chat(max_retries=1)
    assert "check OPENAI_BASE_URL" in str(raised.value)
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "url",
    ["localhost:8000/v1", "ftp://host/v1", "http:///v1", "http://host:abc/v1", "http://host:99999/v1", "http://[::1/"],
)
def test_a_base_url_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ProviderAccessError, match="OPENAI_BASE_URL is not a usable URL"):
        chat()


@pytest.mark.parametrize("end", ["", "/", "?api-version=1&a=b", "/?api-version=1&a=b"])
def test_a_base_url_may_end_in_a_slash_or_a_query(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{loopback.url}{end}")
    chat()
    embed(["Text"])
    assert [one.path for one in loopback.requests] == ["/v1/chat/completions", "/v1/embeddings"]
    assert {one.query for one in loopback.requests} == {"api-version=1&a=b" if "?" in end else ""}


def test_without_key_another_server_gets_a_dummy(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    chat()
    assert loopback.requests[0].headers["authorization"] == "Bearer none"


def test_an_empty_variable_of_the_sdk_is_an_unset_one(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "")
    chat()
    headers = loopback.requests[0].headers
    assert headers["authorization"] == "Bearer none"
    assert not headers.keys() & {"openai-organization", "openai-project"}


def test_a_key_is_trimmed(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{API_KEY}\n")
    chat()
    assert loopback.requests[0].headers["authorization"] == f"Bearer {API_KEY}"


@pytest.mark.parametrize("key", ["sk-schlüssel", "sk-two\nlines"])
def test_a_key_that_is_none_is_refused_unseen(loopback: Loopback, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ProviderAccessError, match="copy it again") as raised:
        chat()
    assert key not in str(raised.value)


@pytest.mark.parametrize("call", [chat, lambda: embed(["text"])])
@pytest.mark.parametrize("base_url", [None, ""])
def test_without_key_and_base_url_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[], object], base_url: str | None
) -> None:
    if base_url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    with pytest.raises(ProviderAccessError, match="OPENAI_API_KEY is not set"):
        call()


def test_vectors_are_unit_length_and_in_the_order_of_the_texts(loopback: Loopback) -> None:
    usage = Usage()
    texts = ["one two", "three", "four"]
    vectors = embed(texts, usage)
    expected = np.array([loopback.embed(text, 8) for text in texts])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert vectors.dtype == np.float32
    assert usage.input_tokens == 4
    body = loopback.requests[0].body
    assert body == {"model": "small-model", "input": texts, "encoding_format": "base64"}


@pytest.mark.parametrize(
    ("server", "asked"),
    [
        ("spoken", ["base64", "base64"]),
        ("ignored", ["base64", "base64"]),
        ("refused", ["base64", "float", "float"]),
    ],
)
def test_vectors_are_the_same_in_base64_and_as_floats(
    loopback: Loopback, server: Literal["spoken", "ignored", "refused"], asked: list[str]
) -> None:
    """A server that refuses base64 is asked for it once in a process."""
    loopback.base64 = server
    expected = np.array([loopback.embed(text, 8) for text in ("one", "two")])
    for _ in range(2):
        vectors = embed(["one", "two"])
        np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert [received.body["encoding_format"] for received in loopback.requests] == asked


def test_a_request_refused_for_another_reason_leaves_base64_on(loopback: Loopback) -> None:
    loopback.script.extend([Reply.error(400)] * 4)
    with pytest.raises(PermanentProviderError, match="request refused"):
        embed(["text"])
    embed(["text"])
    asked = [received.body["encoding_format"] for received in loopback.requests]
    assert asked == ["base64", "float", "base64", "float", "base64"]


def test_only_models_that_can_shorten_are_told_the_length(loopback: Loopback) -> None:
    assert embed(["text"], model="text-embedding-3-large", dimensions=5).shape == (1, 5)
    assert loopback.requests[0].body["dimensions"] == 5


@pytest.mark.parametrize("text", ["word " * 20, "日本語" * 20])
def test_a_text_that_is_too_long_is_cut_and_counted(loopback: Loopback, text: str) -> None:
    async def both() -> list[int]:
        settings = EmbeddingSettings(provider="openai", model="small-model", dimensions=8, max_input_tokens=10)
        async with _closing(embedder := OpenAIEmbedder(settings, Usage())):
            await embedder.embed_documents([text, "short"])
            return await embedder.unread([text, "short"])

    unread = asyncio.run(both())
    sent, short = loopback.requests[0].body["input"]
    assert text.startswith(sent)
    assert 0 < load_tokenizer("o200k_base").count(sent) <= 10
    assert short == "short"
    assert unread == [len(text) - len(sent), 0]


def test_no_texts_are_no_request(loopback: Loopback) -> None:
    assert embed([]).shape == (0, 8)
    assert loopback.requests == []


def _data(*vectors: object) -> Reply:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return Reply(body={"object": "list", "model": "m", "data": data, "usage": None})


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (_data([1.0] * 8), "1 vectors for 2 texts"),
        (_data([1.0] * 8, [1.0] * 3), "of 3 dimensions in place of 8; set LIGHTRAG_EMBEDDING__DIMENSIONS=3, .*-base`$"),
        (_data([1.0] * 8, [float("nan")] * 8), "zero or not finite"),
        (_data([1.0] * 8, [float("inf")] * 8), "zero or not finite"),
        (_data([1.0] * 8, [0.0] * 8), "zero or not finite"),
    ],
)
def test_unusable_vectors_are_named(loopback: Loopback, reply: Reply, says: str) -> None:
    loopback.fault = lambda received: reply if len(received.body["input"]) == 2 else _data([0.0] * 8)
    with pytest.raises(EmbeddingError, match="zero or not finite"):  # those of a word alone are, too
        embed(["one", "two"])
    with pytest.raises((EmbeddingError, PermanentProviderError), match=says):
        embed_question(["one", "two"])


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (Reply.error(401), ProviderAccessError, "OPENAI_API_KEY"),
        (Reply.error(404), ProviderAccessError, "LIGHTRAG_EMBEDDING__MODEL"),
        (Reply.error(400, "context_length_exceeded"), PermanentProviderError, "LIGHTRAG_EMBEDDING__MAX_INPUT_TOKENS"),
        (Reply.error(429), TransientProviderError, "LIGHTRAG_EMBEDDING__MAX_CONCURRENCY"),
        (Reply.html("text/html"), TransientProviderError, "no embeddings"),
        (Reply(body={}), TransientProviderError, "no embeddings"),
        (Reply(body={"data": [1]}), TransientProviderError, "no embeddings"),
        (_data(["a"] * 8), TransientProviderError, "no embeddings"),
        (_data(None), TransientProviderError, "no embeddings"),
        (_data("AAAA"), TransientProviderError, "no embeddings"),
        (_data("no base64"), TransientProviderError, "no embeddings"),
    ],
)
def test_embedding_errors_are_explained(loopback: Loopback, reply: Reply, kind: type[ProviderError], says: str) -> None:
    loopback.fault = lambda received: reply
    with pytest.raises(kind, match=says):
        embed(["text"])


def test_the_server_streams_and_lists_models_and_packs_vectors(loopback: Loopback) -> None:
    """The product uses less of the server than its tests and the SDK do."""
    loopback.chat = lambda body: "one two"
    with openai.OpenAI() as client:
        assert [model.id for model in client.models.list()] == ["test-model"]
        events = list(
            client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "Hi"}],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        packed = client.embeddings.create(model="m", input="text").data[0].embedding
    assert "".join(event.choices[0].delta.content or "" for event in events if event.choices) == "one two "
    assert events[-1].usage is not None
    np.testing.assert_allclose(packed, loopback.embed("text", 8), rtol=1e-6)
    assert isinstance(loopback.requests[-1], Received)


def test_a_fault_of_our_own_in_a_call_is_not_told_as_an_answer(loopback: Loopback) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        chat(extra_body={"top_p": float("nan")}, max_retries=0)
    assert loopback.requests == []


@pytest.mark.parametrize("number", [8, 9])
def test_one_vector_for_many_texts_is_an_error(loopback: Loopback, number: int) -> None:
    """As of a server that mixes up what it embeds together: every text would be as near to a question as any other."""
    loopback.embed = lambda text, dimensions: [1.0] * dimensions
    texts = [f"text {at}" for at in range(number)]
    if number == 8:  # as few may differ in what a model does not read
        assert embed(texts).shape == (8, 8)
        return
    with pytest.raises(ProviderAccessError, match="gave the same vector for 9 texts; see the server's log"):
        embed(texts)
    assert len(loopback.requests) == 1
    assert embed(["text"] * 9).shape == (9, 8)


def test_each_model_of_a_server_has_the_encoding_that_it_takes(loopback: Loopback) -> None:
    """OpenRouter gives no vector in base64 for some."""
    embed(["text"], model="one")
    loopback.base64 = "refused"
    assert embed(["text"], model="other").shape == (1, 8)
    assert [one.body["encoding_format"] for one in loopback.requests] == ["base64", "base64", "float"]
