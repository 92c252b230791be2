"""Providers that refuse a text, a number of texts or of tokens, or answer in shapes of their own."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tenacity import wait_fixed

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message, Usage, Vectors
from lightrag_dagster.errors import (
    EmbeddingError,
    OutputLimitError,
    PermanentProviderError,
    ProviderAccessError,
    ProviderError,
    TransientProviderError,
)
from lightrag_dagster.models import openai_client, openai_embeddings
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.models.openai_embeddings import OpenAIEmbedder
from lightrag_dagster.models.providers import open_embedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from lightrag_dagster.storage.home import Home
from tests.loopback import Answer, Loopback, Received, Reply

ROWS = "entity<|#|>Ida<|#|>Person<|#|>She leads."


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_embeddings, "_encodings", {})
    monkeypatch.setattr(openai_client, "_BACKOFF", wait_fixed(0.01))
    monkeypatch.setattr(openai_client, "_LOOK_SECONDS", 0.005)


def asked(text: str, limit: int | None = None) -> ChatRequest:
    return ChatRequest("extract", (Message("user", text),), max_output_tokens=limit)


def chat_all(requests: list[ChatRequest], **settings: Any) -> list[ChatResponse | ProviderError]:
    """Ask all at once, and return each answer or error."""

    async def run() -> list[ChatResponse | ProviderError]:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="m", **settings))
        try:
            return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)  # type: ignore[return-value]
        finally:
            await model.close()

    return asyncio.run(run())


def chat(text: str = "Text", **settings: Any) -> ChatResponse:
    (answer,) = chat_all([asked(text)], **settings)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def stream(**settings: Any) -> list[str]:
    async def run() -> list[str]:
        model = OpenAIChatModel(LLMSettings(provider="openai", model="m", max_retries=0, **settings))
        try:
            return [piece async for piece in model.stream(asked("Text"))]
        finally:
            await model.close()

    return asyncio.run(run())


def embed(texts: list[str], usage: Usage | None = None, times: int = 1, before: list[str] | None = None) -> Vectors:
    async def run() -> Vectors:
        settings = EmbeddingSettings(provider="openai", model="e", dimensions=8, max_concurrency=2)
        embedder = OpenAIEmbedder(settings, usage or Usage())
        try:
            await embedder.embed_documents(before or [])
            return [await embedder.embed_documents(texts) for _ in range(times)][-1]
        finally:
            await embedder.close()

    return asyncio.run(run())


def completion(content: Any, reason: Any = "stop", **message: Any) -> Reply:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content} | message}
    return Reply(body={"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


def event(**body: Any) -> Reply:
    data = f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n".encode()
    return Reply(body=data, headers={"content-type": "text/event-stream"})


PARTS: list[Any] = [
    [{"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}, {"type": "text", "text": ROWS}],
    [{"type": "text", "text": ROWS[:9]}, {"type": "text", "text": ROWS[9:]}],
    [{"type": "reasoning", "text": "hmm"}, {"type": "output_text", "text": ROWS}],
    [{"text": ROWS}],
    [ROWS],
    [{"type": "text", "text": ROWS}, {"type": "image_url", "image_url": {"url": "data:"}}],
]


# Reported case J1.
@pytest.mark.parametrize("parts", PARTS)
def test_content_is_a_list_of_parts(loopback: Loopback, parts: Any) -> None:
    loopback.script.append(completion(parts))
    assert chat().text == ROWS
    loopback.script.append(event(choices=[{"index": 0, "delta": {"content": parts}, "finish_reason": "stop"}]))
    assert "".join(stream()) == ROWS


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("MAX_TOKENS", "length"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("maxPredictedTokensReached", "length"),
        ("contextLengthReached", "length"),
        ("FinishReason.MAX_TOKENS", "length"),
        ("LENGTH", "length"),
        ("FINISH_REASON_LENGTH", "length"),
        ("end_turn", "end_turn"),
        ("eosFound", "eosFound"),
        ("STOP", "STOP"),
    ],
)
def test_other_words_for_the_end_of_an_answer(loopback: Loopback, reason: str, kind: str) -> None:
    loopback.script.append(completion(ROWS, reason))
    assert chat().finish_reason == kind


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "model_length", "contextLengthReached"])
def test_an_empty_answer_at_the_limit_is_one_by_any_word(loopback: Loopback, reason: str) -> None:
    loopback.script.append(completion("", reason))
    with pytest.raises(OutputLimitError):
        chat()


@pytest.mark.parametrize(
    "reason",
    ["SAFETY", "content_filter: PROHIBITED_CONTENT", "RECITATION", "PROHIBITED_CONTENT", "sensitive", "BLOCKLIST"],
)
def test_other_words_for_a_filter(loopback: Loopback, reason: str) -> None:
    loopback.script.append(completion("half of", reason))
    with pytest.raises(PermanentProviderError, match="content filter"):
        chat()
    assert len(loopback.requests) == 1


@pytest.mark.parametrize("reason", ["error", "network_error", "abort", "insufficient_system_resource", "overloaded"])
def test_an_answer_that_an_error_broke_off_is_asked_for_again(loopback: Loopback, reason: str) -> None:
    loopback.script.append(completion("half of", reason))
    loopback.chat = lambda body: "whole"
    assert chat(max_retries=1).text == "whole"


# Reported case J4.
@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ({"error": {"message": "Insufficient credits", "code": 402}}, ProviderAccessError, "add credit"),
        ({"error": {"message": "no", "code": "402"}}, ProviderAccessError, "add credit"),
        ({"error": {"message": "User not found.", "code": 401}}, ProviderAccessError, "OPENAI_API_KEY"),
        ({"error": {"message": "no", "type": "authentication_error"}}, ProviderAccessError, "OPENAI_API_KEY"),
        ([{"error": {"code": 402, "message": "no"}}], ProviderAccessError, "add credit"),
        ({"choices": [{"error": {"code": 402, "message": "no"}, "message": None}]}, ProviderAccessError, "add credit"),
        ({"object": "error", "message": "no", "code": 401}, ProviderAccessError, "OPENAI_API_KEY"),
        ({"error": {"code": 429, "message": "slowly"}}, TransientProviderError, "too many requests"),
        ({"error": {"status": "RESOURCE_EXHAUSTED"}}, TransientProviderError, "too many requests"),
        ({"error": {"message": "upstream", "code": 502}}, TransientProviderError, "temporary failure"),
        ({"error": "the model has crashed"}, TransientProviderError, "temporary failure"),
        ({"error": {"code": 400, "message": "maximum context length is 9"}}, PermanentProviderError, "too long"),
        ({"error": "the context length of only 4096 tokens is not enough"}, PermanentProviderError, "too long"),
    ],
)
def test_an_error_inside_of_a_200(loopback: Loopback, body: Any, kind: type[ProviderError], says: str) -> None:
    loopback.fault = lambda received: Reply(body=body)
    with pytest.raises(ProviderError, match=says) as raised:
        chat(max_retries=1)
    assert type(raised.value) is kind
    assert len(loopback.requests) == (2 if kind is TransientProviderError else 1)
    loopback.fault = lambda received: event(**(body[0] if isinstance(body, list) else body))
    if isinstance(body, list) or body.keys() == {"error"}:
        with pytest.raises(kind, match=says):
            stream()


def test_a_limit_inside_of_a_200_passes(loopback: Loopback) -> None:
    loopback.script.extend([Reply(body={"error": {"message": "Rate limit exceeded", "code": 429}})] * 2)
    loopback.chat = lambda body: ROWS
    assert chat(max_retries=2).text == ROWS


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (
            400,
            [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "x"}}],
            ProviderAccessError,
            "OPENAI_API_KEY",
        ),
        (
            400,
            [{"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens (8)"}}],
            PermanentProviderError,
            "LIGHTRAG_CHUNKING__SIZE",
        ),
        (429, [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}], TransientProviderError, "too many"),
        (400, {"error": "The model has crashed without additional information."}, TransientProviderError, "temporary"),
        (
            400,
            {
                "error": "Trying to keep the first 9 tokens when context the overflows. The model is loaded with "
                "context length of only 4096 tokens"
            },
            PermanentProviderError,
            "LIGHTRAG_CHUNKING__SIZE",
        ),
        (
            400,
            {"error": {"message": "the request exceeds the available context size", "code": 400}},
            PermanentProviderError,
            "LIGHTRAG_CHUNKING__SIZE",
        ),
        (500, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, PermanentProviderError, "CHUNKING"),
        (
            400,
            {"error": {"message": "Failed to generate JSON.", "code": "json_validate_failed"}},
            TransientProviderError,
            "or set LIGHTRAG_EXTRACTION__ANSWER_FORMAT to rows",
        ),
    ],
)
def test_error_bodies_of_other_servers(
    loopback: Loopback, status: int, body: Any, kind: type[ProviderError], says: str
) -> None:
    loopback.fault = lambda received: Reply(status, body)
    with pytest.raises(ProviderError, match=says) as raised:
        chat(max_retries=0)
    assert type(raised.value) is kind


ALL_SPENT = "Your team f3 has either used all available credits or reached its monthly spending limit."


# The first failed chunks for good, and blamed their text; the others were waited for.
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}),
        (400, {"type": "auth_error", "message": "Budget has been exceeded! Current cost: 14.1, Max budget: 10.0"}),
        (400, {"type": "budget_exceeded", "message": "ExceededBudget: User=ida over budget. Spend=2, Budget=1"}),
        (400, {"message": "ExceededBudget: End User=ida over budget. Spend=2, Budget=1"}),
        (429, {"type": "budget_exceeded", "message": "Your allowance has been reached.", "code": "429"}),
        (403, {"message": "Key limit exceeded (monthly limit). Manage it on the page of keys", "code": 403}),
        (403, "You have run out of credits or need a subscription."),
        (403, ALL_SPENT),
        (429, ALL_SPENT),
        (429, {"status": "RESOURCE_EXHAUSTED", "message": "Your prepayment credits are depleted."}),
        (429, {"status": "RESOURCE_EXHAUSTED", "message": "Your project has exceeded its monthly spending cap."}),
    ],
)
def test_credit_that_is_used_up_ends_the_run_and_blames_no_text(loopback: Loopback, status: int, error: Any) -> None:
    loopback.fault = lambda received: Reply(status, {"error": error}) if "BAD" in json.dumps(received.body) else None
    answers = chat_all([asked("a"), asked("BAD")], max_concurrency=1)
    assert type(answers[1]) is ProviderAccessError
    assert "the quota at" in str(answers[1])
    assert len(loopback.requests) == 2


def test_a_refused_text_about_money_is_refused_alone(loopback: Loopback) -> None:
    for status in (400, 403):
        said = "Input flagged: it tells of a budget that was exceeded, a spending limit and a low credit balance"
        refusal = Reply.error(status, message=said)
        loopback.fault = lambda received, reply=refusal: reply if "BAD" in json.dumps(received.body) else None  # type: ignore[misc]
        answers = chat_all([asked("a"), asked("BAD")], max_concurrency=1)
        assert type(answers[1]) is PermanentProviderError


# Reported case J9.
@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": ROWS},
        {"reasoning": "I must list the names."},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}]},
        {"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hmm"}]},
    ],
)
def test_an_answer_that_is_only_reasoning_says_so(loopback: Loopback, message: dict[str, Any]) -> None:
    loopback.fault = lambda received: completion(**{"content": None} | message)
    with pytest.raises(PermanentProviderError, match="only reasoned; switch that off, as by LIGHTRAG_LLM__EXTRA_BODY="):
        chat()
    assert len(loopback.requests) == 2


@pytest.mark.parametrize("reply", [completion(None), completion(" \n"), completion({"text": "x"}), completion(5)])
def test_the_same_answer_of_no_use_is_no_passing_failure(loopback: Loopback, reply: Reply) -> None:
    loopback.fault = lambda received: reply
    with pytest.raises(PermanentProviderError, match=r"unusable answer .*; it said so twice, and `run --retry-failed`"):
        chat()
    assert len(loopback.requests) == 2


def test_different_answers_of_no_use_are_tried_to_the_end(loopback: Loopback) -> None:
    loopback.fault = lambda received: completion(" " * len(loopback.requests))
    with pytest.raises(TransientProviderError, match="it is empty"):
        chat(max_retries=3)
    assert len(loopback.requests) == 4


def test_pages_of_a_proxy_are_tried_to_the_end(loopback: Loopback) -> None:
    loopback.fault = lambda received: Reply.html("text/html")
    with pytest.raises(ProviderAccessError, match="it is a page in HTML"):
        chat(max_retries=3)
    assert len(loopback.requests) == 4


PAGE = Reply(403, b"<html><h1>403 Forbidden</h1>Request blocked</html>", {"content-type": "text/html"})


# Reported case J3.
@pytest.mark.parametrize("reply", [PAGE, Reply(403, b"", {}), Reply.error(403, message="flagged by moderation")])
@pytest.mark.parametrize("first", [0, 2, 4])
def test_a_forbidden_text_is_that_calls_alone(loopback: Loopback, reply: Reply, first: int) -> None:
    """Even if it is refused before the others are answered."""
    loopback.fault = lambda received: reply if "BAD" in json.dumps(received.body) else None
    loopback.delay = 0.05
    texts = ["a", "b", "c", "d"]
    texts.insert(first, "BAD")
    answers = chat_all([asked(text) for text in texts], max_concurrency=8)
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert [type(one) for one in refused] == [PermanentProviderError]
    assert "text forbidden by" in str(refused[0])
    assert len(loopback.requests) == 5


@pytest.mark.parametrize("reply", [PAGE, Reply.error(403)])
def test_a_key_that_is_forbidden_everything_ends_the_run(loopback: Loopback, reply: Reply) -> None:
    loopback.fault = lambda received: reply
    for answers in (chat_all([asked("a")]), chat_all([asked(text) for text in "abcdef"], max_concurrency=3)):
        assert {type(answer) for answer in answers} == {ProviderAccessError}


def test_a_key_that_is_refused_from_now_on_ends_the_run(loopback: Loopback) -> None:
    loopback.fault = lambda received: Reply.error(403) if len(loopback.requests) > 1 else None
    answers = chat_all([asked(str(number)) for number in range(30)], max_concurrency=1)
    assert [type(answer) for answer in answers].count(PermanentProviderError) == 20
    assert type(answers[-1]) is ProviderAccessError


TOO_MANY = [
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens "
    "and your request has 2100 input tokens (8192 > 8192 - 2100). (parameter=max_tokens, value=8192)",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (808 in the messages, 8192 "
    "in the completion). Please reduce the length of the messages or completion.",
    "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.",
    "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 "
    "tokens: 808 tokens from the input messages and 8192 tokens for the completion.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 900 `inputs` tokens",
    "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for the model",
]


# Reported case J6.
@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("message", TOO_MANY)
def test_output_tokens_without_room_are_asked_for_again_with_fewer(
    loopback: Loopback, message: str, status: int
) -> None:
    def fault(received: Received) -> Reply | None:
        return Reply.error(status, message=message) if received.body["max_tokens"] > 6000 else None

    loopback.fault = fault
    loopback.chat = lambda body: ROWS
    answers = chat_all([asked("a"), asked("b"), asked("c", 16_384)], max_concurrency=1)
    assert [type(answer) for answer in answers] == [ChatResponse, ChatResponse, PermanentProviderError]
    assert "lower LIGHTRAG_LLM__MAX_OUTPUT_TOKENS" in str(answers[-1])
    assert [received.body["max_tokens"] for received in loopback.requests] == [8192, 2048, 2048, 16_384]
    loopback.requests.clear()
    assert stream() == [f"{word} " for word in ROWS.split(" ")]


def test_only_texts_as_long_as_one_that_left_no_room_get_fewer_output_tokens(loopback: Loopback) -> None:
    def fault(received: Received) -> Reply | None:
        no_room = "long" in str(received.body["messages"]) and received.body["max_tokens"] > 6000
        return Reply.error(400, message=TOO_MANY[1]) if no_room else None

    loopback.fault = fault
    loopback.chat = lambda body: ROWS
    chat_all([asked("long " * 900), asked("short"), asked("long " * 1000)], max_concurrency=1)
    assert [received.body["max_tokens"] for received in loopback.requests] == [8192, 2048, 8192, 2048]


def test_a_text_without_any_room_for_an_answer_fails(loopback: Loopback) -> None:
    loopback.fault = lambda received: Reply.error(400, message=TOO_MANY[1])
    with pytest.raises(PermanentProviderError, match="lower LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"):
        chat()
    assert [received.body["max_tokens"] for received in loopback.requests] == [8192, 2048]


# Of embedders.

TEXTS = [f"text number {number} about the bridge of Corley" for number in range(16)]
BAD = "POISON is what this text has at its very beginning"
LONG = Reply.error(
    400,
    message="This model's maximum context length is 8192 tokens, however you requested 9000 tokens "
    "(9000 in your prompt; 0 for the completion).",
)


def expected(loopback: Loopback, texts: list[str]) -> Vectors:
    vectors = np.array([loopback.embed(text, 8) for text in texts])
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def nan_for(texts: list[str]) -> Reply:
    data = [{"index": at, "embedding": [None if "POISON" in text else 1.0] * 8} for at, text in enumerate(texts)]
    return Reply(body={"data": data})


# Reported case J2.
@pytest.mark.parametrize(
    "reply",
    [
        LONG,
        Reply.error(400),
        Reply.error(413),
        Reply.error(422),
        Reply.error(500, message="unsupported value: NaN"),
        Reply(500, b"<html>", {"content-type": "text/html"}),
        Reply(403, b"<html>", {"content-type": "text/html"}),
        Reply(body={"error": {"code": 400, "message": "no"}}),
        None,
    ],
    ids=["length", "400", "413", "422", "500", "500-html", "403-html", "inside-200", "nan"],
)
@pytest.mark.parametrize("place", [0, 9, 15])
def test_a_text_that_an_embedder_refuses_costs_itself_alone(
    loopback: Loopback, reply: Reply | None, place: int
) -> None:
    texts = [*TEXTS[:place], BAD, *TEXTS[place + 1 :]]

    def fault(received: Received) -> Reply | None:
        given = received.body["input"]
        refused = any("POISON" in text for text in given)
        return (reply or nan_for(given)) if refused else None

    loopback.fault = fault
    usage = Usage()
    vectors = embed(texts, usage, before=["a call that passes"])
    assert (usage.refused_texts, usage.shortened_texts) in ((1, 0), (0, 1))
    others = [at for at in range(16) if at != place]
    np.testing.assert_allclose(vectors[others], expected(loopback, texts)[others], rtol=1e-6)
    assert len(loopback.requests) < 40


def test_a_refused_text_has_the_zero_vector(loopback: Loopback) -> None:
    loopback.fault = lambda received: (
        Reply.error(500)
        if any("x" in one for one in received.body["input"][-1]) and (received.body["input"] != ["text"])
        else None
    )
    usage = Usage()
    vectors = embed(["fine", "x" * 64], usage)
    assert vectors.any(axis=1).tolist() == [True, False]
    assert (usage.refused_texts, usage.shortened_texts) == (1, 0)


# Reported case J2.
@pytest.mark.parametrize("most", [1000, 300, 40])
def test_a_text_that_is_too_long_for_an_embedder_is_cut_until_it_fits(loopback: Loopback, most: int) -> None:
    loopback.fault = lambda received: LONG if any(len(text) > most for text in received.body["input"]) else None
    usage, text = Usage(), "word " * 250
    vectors = embed([*TEXTS, text], usage) if most > 100 else embed([text], usage)
    sent = max((received.body["input"][-1] for received in loopback.requests[-12:]), key=len)
    assert len(sent) >= most / 2
    assert vectors.any(axis=1).all()
    assert (usage.refused_texts, usage.shortened_texts) == (0, 1)


def test_what_an_endpoint_did_not_take_is_known_also_of_a_stored_vector(loopback: Loopback, tmp_path: Path) -> None:
    loopback.fault = lambda received: LONG if any(len(text) > 300 for text in received.body["input"]) else None
    settings = EmbeddingSettings(provider="openai", model="e", dimensions=8)

    async def unread(home: Home) -> list[int]:
        async with open_embedder(settings, home) as embedder:
            await embedder.embed_documents(["short", "word " * 100])
            return await embedder.unread(["short", "word " * 100])

    made = asyncio.run(unread(Home(tmp_path)))
    asked = len(loopback.requests)
    assert made == [0, 250]
    assert asyncio.run(unread(Home(tmp_path))) == made
    assert len(loopback.requests) == asked


@pytest.mark.parametrize("most", [1, 5, 10])
@pytest.mark.parametrize("status", [400, 413, 422])
def test_the_most_texts_of_a_request_are_found_out(loopback: Loopback, most: int, status: int) -> None:
    loopback.fault = lambda received: Reply.error(status) if len(received.body["input"]) > most else None
    usage = Usage()
    vectors = embed(TEXTS, usage, times=2)
    np.testing.assert_allclose(vectors, expected(loopback, TEXTS), rtol=1e-6)
    assert (usage.refused_texts, usage.shortened_texts) == (0, 0)
    second = loopback.requests[-(16 // {1: 1, 5: 4, 10: 8}[most]) :]
    assert sum(len(received.body["input"]) for received in second) == 16


def test_a_server_that_answers_the_first_text_alone_gets_one_at_a_time(loopback: Loopback) -> None:
    def fault(received: Received) -> Reply | None:
        first = received.body["input"][0]
        return Reply(body={"data": [{"index": 0, "embedding": loopback.embed(first, 8)}]})

    loopback.fault = fault
    np.testing.assert_allclose(embed(TEXTS), expected(loopback, TEXTS), rtol=1e-6)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.error(400), PermanentProviderError),
        (LONG, PermanentProviderError),
        (Reply.error(500), TransientProviderError),
        (Reply.error(404), ProviderAccessError),
        (Reply(body={"error": {"code": 402, "message": "no"}}), ProviderAccessError),
    ],
)
def test_a_server_that_refuses_everything_refuses_no_text(
    loopback: Loopback, reply: Reply, kind: type[ProviderError]
) -> None:
    loopback.fault = lambda received: reply
    usage = Usage()
    with pytest.raises(ProviderError) as raised:
        embed(TEXTS, usage)
    assert type(raised.value) is kind
    assert usage.refused_texts == 0


def test_a_server_that_fails_once_cuts_nothing(loopback: Loopback) -> None:
    loopback.script.append(Reply.error(500))
    usage = Usage()
    np.testing.assert_allclose(embed(["one"], usage), expected(loopback, ["one"]), rtol=1e-6)
    assert (usage.refused_texts, usage.shortened_texts) == (0, 0)


def test_a_question_that_is_refused_is_an_error(loopback: Loopback) -> None:
    loopback.fault = lambda received: LONG

    async def run() -> Vectors:
        embedder = OpenAIEmbedder(EmbeddingSettings(provider="openai", model="e", dimensions=8), Usage())
        try:
            return await embedder.embed_queries(["question"])
        finally:
            await embedder.close()

    with pytest.raises(PermanentProviderError, match="MAX_INPUT_TOKENS"):
        asyncio.run(run())


@pytest.mark.parametrize(
    "written",
    [
        lambda vector: [str(number) for number in vector],
        lambda vector: json.dumps(vector),
        lambda vector: f" {json.dumps([str(number) for number in vector])}",
        lambda vector: [round(number * 1000) for number in vector],
    ],
)
def test_vectors_as_texts_are_read(loopback: Loopback, written: Any) -> None:
    def fault(received: Received) -> Reply:
        vectors = [written(loopback.embed(text, 8)) for text in received.body["input"]]
        return Reply(body={"data": [{"index": at, "embedding": one} for at, one in enumerate(vectors)]})

    loopback.fault = fault
    np.testing.assert_allclose(embed(TEXTS), expected(loopback, TEXTS), rtol=1e-2, atol=1e-2)


def test_an_error_of_the_embedder_itself_stays_one(loopback: Loopback) -> None:
    loopback.dimensions = 3
    with pytest.raises(EmbeddingError, match="set LIGHTRAG_EMBEDDING__DIMENSIONS=3"):
        embed(TEXTS)
    assert isinstance(loopback.chat({}), str | Answer)
