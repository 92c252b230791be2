"""Malformed answers of a server on the loopback interface, through the real openai client."""

import asyncio
import json
import math
from typing import Any

import numpy as np
import pytest

from lightrag_dagster.core.protocols import MOST_TOKENS, ChatRequest, ChatResponse, Message
from lightrag_dagster.errors import BudgetExceededError, EmbeddingError, PermanentProviderError, TransientProviderError
from lightrag_dagster.models import openai_embeddings
from lightrag_dagster.models.batch.jsonl import read_line
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.models.openai_client import warn_of_estimate
from lightrag_dagster.models.openai_errors import FailedCallError, Target
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.settings import LLMSettings, Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from tests.loopback import Answer, Loopback, Reply

REQUEST = ChatRequest("extract", (Message("system", "Rules"), Message("user", "Text")))
INPUT, OUTPUT = 18, 2
"""The estimated tokens of the request, and of the answer `Hello`."""
JSON = {"content-type": "application/json"}
TARGET = Target("LIGHTRAG_LLM__", "m", "host", 1.0)


def bought(settings: Settings) -> ChatResponse:
    """Buy an answer at a dollar a token, and return it as the response store gives it back."""
    llm = settings.changed(
        llm={"provider": "openai", "model": "m", "max_retries": 0, "prices": {"m": {"input": 1e6, "output": 1e6}}}
    ).llm

    async def run() -> ChatResponse:
        async with open_chat_model(llm, Home.of(settings), "extract", Account("run")) as model:
            return await model.complete(REQUEST)

    first = asyncio.run(run())
    assert asyncio.run(run()) == first
    return first


NO_COUNTS = [
    -1_000_000_000,
    -1,
    MOST_TOKENS + 1,
    10**30,
    math.nan,
    math.inf,
    -math.inf,
    "many",
    True,
    1.5,
    [7],
    {},
    None,
]


@pytest.mark.parametrize("value", NO_COUNTS)
def test_a_count_that_is_none_is_estimated(loopback: Loopback, settings: Settings, value: object) -> None:
    usage = {"prompt_tokens": value, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": value}}
    loopback.chat = lambda body: Answer("Hello", usage=usage)
    assert bought(settings) == ChatResponse("Hello", "stop", INPUT, 3, 0, INPUT + 3.0)
    assert Ledger(Home.of(settings).ledger).spent("run") == INPUT + 3.0


@pytest.mark.parametrize("count", [float, str])
def test_a_count_may_be_written_as_a_text_or_with_a_point(
    loopback: Loopback, settings: Settings, count: type[float | str]
) -> None:
    usage = {"prompt_tokens": count(15), "completion_tokens": count(3)}
    loopback.chat = lambda body: Answer("Hello", usage=usage)
    assert bought(settings) == ChatResponse("Hello", "stop", 15, 3, 0, 18.0)


def test_estimated_output_is_at_most_the_limit_of_the_request(loopback: Loopback, settings: Settings) -> None:
    loopback.chat = lambda body: Answer("1" * 10_000, usage={})
    assert bought(settings).billed == (INPUT, LLMSettings().max_output_tokens, 0, 0)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Hello", "reasoning_content": "1" * 50},
        {"content": "Hello", "reasoning": "1" * 50, "reasoning_details": [{"text": "1" * 50}]},
        {"content": f"<think>{'1' * 50}</think>Hello"},
        {"content": [{"type": "thinking", "thinking": "1" * 50}, {"type": "text", "text": "Hello"}]},
    ],
)
def test_reasoning_is_part_of_estimated_output(loopback: Loopback, settings: Settings, message: Any) -> None:
    loopback.script.append(Reply(body=completion(**message, usage=None)))
    assert 50 < bought(settings).output_tokens < 100


@pytest.mark.parametrize("usage", [None, [], [1], "many", 7, {"prompt_tokens_details": [1]}])
def test_usage_that_is_none_is_estimated_and_said(
    loopback: Loopback, settings: Settings, caplog: pytest.LogCaptureFixture, usage: Any
) -> None:
    warn_of_estimate.cache_clear()
    loopback.chat = lambda body: Answer("Hello", usage=usage)
    assert bought(settings) == ChatResponse("Hello", "stop", INPUT, OUTPUT, 0, float(INPUT + OUTPUT))
    assert "does not report the tokens of its answers; they are estimated" in caplog.text


@pytest.mark.parametrize(
    ("taken", "details", "expected"),
    [
        (5, {"cached_tokens": 1000}, (1005, 1, 0, 0)),
        (5, {"cached_tokens": 3, "cache_write_tokens": 3}, (11, 1, 0, 3)),
        (0, {"cached_tokens": 1000, "cache_write_tokens": 1}, (INPUT, 1, 0, 0)),
    ],
)
def test_tokens_of_a_cache_beyond_those_taken_in_are_not_cheaper(
    loopback: Loopback, settings: Settings, taken: int, details: Any, expected: tuple[int, ...]
) -> None:
    usage = {
        "prompt_tokens": taken,
        "completion_tokens": 1,
        "total_tokens": taken + 1,
        "prompt_tokens_details": details,
    }
    loopback.chat = lambda body: Answer("Hello", usage=usage)
    assert bought(settings).billed == expected


def completion(finish_reason: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": finish_reason, "message": {"content": "Hello"} | message}]}


SHAPELESS: list[Any] = [
    completion(5),
    completion(["length"]),
    completion({}),
    completion(True),
    completion("st\x00op"),
    completion(content=5),
    completion(content=[5]),
    completion(content=[{"type": "text", "text": 5}]),
    completion(content=[{"type": "text"}]),
    completion(content={"text": "Hello"}),
    completion(content=True),
    {"choices": None},
    {"choices": []},
    {"choices": {}},
    {"choices": {"0": {"message": {"content": "Hello"}}}},
    {"choices": 1},
    {"choices": [None]},
    {"choices": [{"message": None}]},
    {"choices": [{"message": "Hello"}]},
    {"choices": [{"message": ["Hello"]}]},
    {"_fields_set": 1, "choices": 1},
    {},
    [],
    None,
    "Hello",
    7,
]


@pytest.mark.parametrize("body", SHAPELESS)
def test_an_answer_of_another_shape_is_unusable(loopback: Loopback, settings: Settings, body: Any) -> None:
    loopback.script.append(Reply(body=body))
    with pytest.raises(TransientProviderError, match="unusable answer for model m: it is not shaped like a chat"):
        bought(settings)
    with ResponseStore(Home.of(settings).responses) as store:
        assert store.count() == 0


@pytest.mark.parametrize("body", SHAPELESS)
def test_a_line_of_a_batch_of_another_shape_is_unusable(body: Any) -> None:
    line = json.dumps({"custom_id": "k", "response": {"status_code": 200, "body": body}})
    result = read_line(line.encode(), TARGET)
    assert result is not None
    assert isinstance(result.outcome, FailedCallError)
    assert type(result.outcome.error) is TransientProviderError


@pytest.mark.parametrize("refusal", [5, True, ["no"], {"why": "no"}])
def test_a_refusal_that_is_no_text_is_an_empty_answer(loopback: Loopback, settings: Settings, refusal: Any) -> None:
    loopback.script.append(Reply(body=completion(content=None, refusal=refusal)))
    with pytest.raises(TransientProviderError, match="it is empty"):
        bought(settings)


@pytest.mark.parametrize("body", [{"id": 5, "model": ["m"]}, {"id": None, "_fields_set": 5, "created": "now"}])
def test_fields_that_nobody_reads_may_be_anything(loopback: Loopback, settings: Settings, body: dict[str, Any]) -> None:
    loopback.script.append(Reply(body=completion() | body))
    assert bought(settings) == ChatResponse("Hello", "stop", INPUT, OUTPUT, 0, float(INPUT + OUTPUT))


def test_a_finish_reason_that_no_store_can_hold_is_replaced(loopback: Loopback, settings: Settings) -> None:
    loopback.script.append(Reply(body=completion("st\ud83dp")))
    assert bought(settings).finish_reason == "st?p"


UNREADABLE = [b"[" * 200_000, b'{"a":' * 200_000, b"1" * 10_000, b'{"usage": ' + b"1" * 10_000 + b"}", b"\xff", b""]


@pytest.mark.parametrize("content", UNREADABLE, ids=range(len(UNREADABLE)))
@pytest.mark.usefixtures("uncollected")
def test_json_that_cannot_be_read_is_an_unusable_answer(loopback: Loopback, settings: Settings, content: bytes) -> None:
    loopback.script.append(Reply(body=content, headers=JSON))
    with pytest.raises(TransientProviderError, match="unusable answer for model m: it is not JSON that can be read"):
        bought(settings)


@pytest.mark.parametrize("content", UNREADABLE, ids=range(len(UNREADABLE)))
@pytest.mark.parametrize("depth", [b"", b'{"error": {"code": ' + b"[" * 900 + b"]" * 900 + b"}}"])
@pytest.mark.usefixtures("uncollected")
def test_an_error_whose_body_cannot_be_read_is_one(
    loopback: Loopback, settings: Settings, content: bytes, depth: bytes
) -> None:
    loopback.script.append(Reply(500, depth or content, JSON))
    with pytest.raises(TransientProviderError):
        bought(settings)


@pytest.mark.parametrize(
    "event",
    [
        b"[" * 200_000,
        b"1" * 10_000,
        b'{"choices": {}, "_fields_set": 5}',
        b'{"choices": {"a": 1}}',
        b'{"choices": [{"delta": {"content": 5}}]}',
        b'{"choices": [{"delta": null}]}',
        b'{"choices": [7]}',
    ],
    ids=range(7),
)
@pytest.mark.usefixtures("uncollected")
def test_a_piece_of_a_stream_of_another_shape_is_unusable(loopback: Loopback, settings: Settings, event: bytes) -> None:
    with pytest.raises(TransientProviderError, match="unusable answer for model m"):
        streamed(loopback, settings, event)


@pytest.mark.parametrize(
    ("delta", "reason", "kind", "said"),
    [
        ({"refusal": "I must "}, "stop", PermanentProviderError, "refused to answer"),
        ({"tool_calls": [{"index": 0, "id": "c"}]}, "tool_calls", TransientProviderError, "it is empty"),
    ],
)
def test_a_stream_ends_as_a_whole_answer_that_is_none(
    loopback: Loopback, settings: Settings, delta: dict[str, Any], reason: str, kind: type[Exception], said: str
) -> None:
    deltas: list[tuple[dict[str, Any], str | None]] = [(delta, None), ({}, reason)]
    events = [json.dumps({"choices": [{"delta": one, "finish_reason": end}]}).encode() for one, end in deltas]
    with pytest.raises(kind, match=said):
        streamed(loopback, settings, *events)


def streamed(loopback: Loopback, settings: Settings, *events: bytes) -> list[str]:
    """Return the pieces of a stream of events."""
    body = b"".join(b"data: " + event + b"\n\n" for event in events)
    loopback.script.append(Reply(body=body, headers={"content-type": "text/event-stream"}))

    async def run() -> list[str]:
        llm = settings.changed(llm={"provider": "openai", "model": "m", "max_retries": 0}).llm
        model = OpenAIChatModel(llm)
        try:
            return [piece async for piece in model.stream(REQUEST)]
        finally:
            await model.close()

    return asyncio.run(run())


def embedded(settings: Settings, max_cost_usd: float | None = None) -> list[list[float]]:
    """Embed two texts and return the vectors, as the vector store gives them back."""
    chosen = {"provider": "openai", "model": "e", "dimensions": 2, "prices": {"e": 1e6}}
    embedding = settings.changed(embedding=chosen).embedding

    async def run() -> list[list[float]]:
        account = Account("run", max_cost_usd=max_cost_usd)
        async with open_embedder(embedding, Home.of(settings), account) as embedder:
            vectors: list[list[float]] = (await embedder.embed_documents(["a", "b"])).tolist()
            return vectors

    return asyncio.run(run())


def vectors(*embeddings: Any, usage: Any = None, numbers: Any = (0, 1)) -> Reply:
    data = [{"index": number, "embedding": one} for number, one in zip(numbers, embeddings, strict=True)]
    return Reply(body={"data": data, "usage": usage})


@pytest.mark.parametrize("usage", [{"prompt_tokens": value} for value in NO_COUNTS] + ["many", [], None])
def test_tokens_of_embeddings_are_counted_by_the_same_rule(
    loopback: Loopback, settings: Settings, usage: object
) -> None:
    loopback.script.append(vectors([1, 0], [0.0, 1.0], usage=usage))
    assert sorted(embedded(settings)) == [[0.0, 1.0], [1.0, 0.0]]
    assert Ledger(Home.of(settings).ledger).spent("run") == 2.0  # estimated: one for each of two letters


@pytest.mark.parametrize(
    "reply",
    [
        vectors(["one", "0"], [0, 1]),
        vectors([True, False], [True, True]),
        vectors([10**400, 0], [0, 1]),
        vectors({"1": 0, "0": 1}, [0, 1]),
        vectors(7, [0, 1]),
        vectors([1, 0], [0, 1], numbers=("0", "1")),
        vectors([1, 0], [0, 1], numbers=(math.nan, 1)),
        vectors([1, 0], [0, 1], numbers=(True, 0)),
        vectors([1, 0], [0, 1], [1, 1], numbers=(1, 1, 2)),
        Reply(body={"data": {"embedding": [1, 0]}}),
        Reply(body={"data": None}),
        Reply(body={"data": []}),
        Reply(body=[]),
        *(Reply(body=content, headers=JSON) for content in UNREADABLE),
    ],
    ids=range(13 + len(UNREADABLE)),
)
def test_embeddings_of_another_shape_are_unusable(loopback: Loopback, settings: Settings, reply: Reply) -> None:
    loopback.script.extend([reply] * 2)  # the second time, numbers were asked for
    with pytest.raises(TransientProviderError, match="unusable answer for model e: it holds no embeddings"):
        embedded(settings)


@pytest.mark.parametrize("data", [None, [], [{"embedding": None}] * 2, [{"index": "0", "embedding": [1, 0]}] * 2])
def test_embeddings_of_no_use_cost_what_the_provider_tells(
    loopback: Loopback, settings: Settings, monkeypatch: pytest.MonkeyPatch, data: object
) -> None:
    monkeypatch.setattr(openai_embeddings, "_encodings", {})
    reply = Reply(body={"data": data, "usage": {"prompt_tokens": 7}})
    loopback.script.extend([reply, reply])
    with pytest.raises(TransientProviderError, match="it holds no embeddings"):
        embedded(settings)
    assert Ledger(Home.of(settings).ledger).spent("run") == 14.0  # the second time, numbers were asked for


def test_numbers_are_asked_for_within_the_budget(
    loopback: Loopback, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_embeddings, "_encodings", {})
    loopback.script.append(Reply(body={"data": None, "usage": {"prompt_tokens": 7}}))
    with pytest.raises(BudgetExceededError):
        embedded(settings, max_cost_usd=8.0)
    assert len(loopback.requests) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e200])
def test_a_vector_that_is_not_finite_is_an_error(loopback: Loopback, settings: Settings, value: float) -> None:
    loopback.script.extend([vectors([value, 0], [0, 1]), vectors([value, 0], numbers=(0,))])
    with pytest.raises(EmbeddingError, match="zero or not finite"):
        embedded(settings)


@pytest.mark.parametrize(
    ("numbers", "expected"), [((None, None), 0), ((0, 0), 0), ((1, 0), 1), ((2, 1), 1), ((1, None), 1)]
)
def test_vectors_go_to_their_texts(
    loopback: Loopback, settings: Settings, numbers: tuple[int | None, int | None], expected: int
) -> None:
    loopback.script.append(vectors([1, 0], [0, 1], numbers=numbers))
    found = embedded(settings)
    asked = loopback.requests[0].body["input"]
    row = np.array(found)[["a", "b"].index(asked[0])]
    assert row.tolist() == [[1.0, 0.0], [0.0, 1.0]][expected]
