"""Marks of what a provider is to cache, against a server that takes, ignores or refuses them."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message, Picture
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.models import openai_chat
from lightrag_dagster.models.batch.jsonl import request_line
from lightrag_dagster.models.identities import openai_chat_identity, reasoning_effort
from lightrag_dagster.models.openai_chat import OpenAIChatModel, marked_by_batch, request_body
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import extraction_request, gleaning_request, keyword_request
from tests.loopback import Loopback, Reply

MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
PROMPTS = load_prompts(None)
FIRST, SECOND = (extraction_request(PROMPTS, text, None, gleans=True) for text in ("Ants dig.", "Bees fly."))
FURTHER = gleaning_request(FIRST, "entity", PROMPTS)


@pytest.fixture(autouse=True)
def _nothing_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chat._marks, "known", {})


def settings(model: str = "gpt-6-luna", **extra: Any) -> LLMSettings:
    return LLMSettings(provider="openai", model=model, max_retries=0, extra_body=extra)


def ask(requests: Sequence[ChatRequest], model: str = "gpt-6-luna") -> list[ChatResponse]:
    """Ask one after another."""

    async def run() -> list[ChatResponse]:
        chat = OpenAIChatModel(settings(model))
        try:
            return [await chat.complete(request) for request in requests]
        finally:
            await chat.close()

    return asyncio.run(run())


def marked(loopback: Loopback) -> list[bool]:
    return ["prompt_cache_options" in request.body for request in loopback.requests]


def test_instructions_are_written_once_and_a_passage_is_read_again_when_it_is_gleaned(loopback: Loopback) -> None:
    loopback.marks = "taken"
    first, second, further = ask([FIRST, SECOND, FURTHER])
    assert loopback.requests[0].body["prompt_cache_options"] == {"mode": "explicit"}
    assert [message["content"][0].keys() & MARK for message in loopback.requests[0].body["messages"]] == [
        MARK.keys()
    ] * 2
    instructions = second.cached_input_tokens
    assert (first.cached_input_tokens, first.cache_write_tokens) == (0, first.input_tokens)
    assert (instructions > 700, second.cache_write_tokens) == (True, second.input_tokens - instructions)
    assert (further.cached_input_tokens, further.cache_write_tokens) == (first.input_tokens, 0)


def test_what_comes_once_is_not_written_to_the_cache(loopback: Loopback) -> None:
    loopback.marks = "taken"
    (found,) = ask([keyword_request(PROMPTS, "Who?")])
    assert marked(loopback) == [True]
    assert (found.cached_input_tokens, found.cache_write_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("model", "marks", "sent"),
    [
        ("gpt-6-luna", "taken", [True, True, True]),
        ("openai/gpt-5.6", "ignored", [True, True, True]),
        ("gpt-6-luna", "refused", [True, False, False, False]),  # once more without, and never again
        ("gpt-4o-mini", "ignored", [False, False, False]),
        ("gpt-5.5", "ignored", [False, False, False]),
        ("my-deployment", "taken", [False, True, True]),  # it says what it wrote
    ],
)
def test_marks_are_tried_once_where_they_may_be_taken(
    loopback: Loopback, model: str, marks: Literal["taken", "ignored", "refused"], sent: list[bool]
) -> None:
    loopback.marks = marks
    assert len(ask([FIRST, SECOND, FURTHER], model)) == 3
    assert marked(loopback) == sent


def test_a_request_that_is_refused_for_another_reason_tells_nothing_of_marks(loopback: Loopback) -> None:
    loopback.script.extend([Reply.error(400, "context_length_exceeded")] * 2)
    with pytest.raises(PermanentProviderError, match="text too long"):
        ask([FIRST])
    ask([FIRST])
    loopback.script.append(Reply.error(400, "context_length_exceeded"))
    with pytest.raises(PermanentProviderError, match="text too long"):
        ask([FIRST])
    assert marked(loopback) == [True, False, True, True]


@pytest.mark.parametrize("status", [400, 404, 415, 422, 500, 501])
def test_an_error_that_names_marks_refuses_them_by_any_status_and_after_any_call(
    loopback: Loopback, status: int
) -> None:
    refusal = Reply.error(status, message="unknown field: prompt_cache_options")
    ask([FIRST])
    loopback.script.append(refusal)
    assert len(ask([SECOND, FURTHER])) == 2
    assert marked(loopback) == [True, True, False, False]


def test_a_batch_is_marked_at_openai_alone() -> None:
    assert marked_by_batch("api.openai.com", "gpt-6-luna")
    assert not marked_by_batch("api.openai.com", "gpt-4o-mini")
    assert not marked_by_batch("gateway.example", "gpt-6-luna")
    plain, marks = (request_line("k", "/v1", request_body(settings(), FIRST, marked=one)) for one in (False, True))
    assert (b"prompt_cache" in plain, marks.count(b"prompt_cache_breakpoint")) == (False, 2)


def test_a_picture_keeps_its_place_after_a_marked_text() -> None:
    shown = (Picture("digest", "data:", 1),)
    request = ChatRequest("describe", (Message("user", "Look", shown, begins_others=True),))
    (message,) = request_body(settings(), request, marked=True)["messages"]
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    assert message["content"] == [{"type": "text", "text": "Look"} | MARK, image]


def test_what_a_call_costs_is_no_part_of_a_models_name_and_how_much_it_reasons_is() -> None:
    plain = openai_chat_identity(settings())
    assert openai_chat_identity(settings(service_tier="flex", prompt_cache_options={"mode": "implicit"})) == plain
    assert openai_chat_identity(settings(reasoning_effort="none")) != plain
    quiet = settings(service_tier="flex").model_copy(update={"reasoning_effort": "none"})
    assert openai_chat_identity(quiet) == f"{plain}&reasoning_effort=none"
    assert [reasoning_effort(one) for one in (settings(), quiet, settings("gpt-4o-mini"))] == ["medium", "none", None]
