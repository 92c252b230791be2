"""Endpoints that refuse a parameter: the name of a model need not tell how it reasons."""

import asyncio
from typing import Any

import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, TransientProviderError
from lightrag_dagster.models import openai_chat
from lightrag_dagster.models.identities import openai_chat_identity, reasoning_effort
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.settings import LLMSettings
from tests.loopback import Loopback, Received, Reply

LIMITED = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


@pytest.fixture(autouse=True)
def _nothing_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chat._limits, "known", {})


def ask(count: int = 1, *, streamed: bool = False, **settings: Any) -> None:
    """Ask one after another."""

    async def run() -> None:
        chat = OpenAIChatModel(LLMSettings(provider="openai", model="luna", max_retries=0, **settings))
        try:
            for at in range(count):
                request = ChatRequest("extract", (Message("user", f"Text {at}"),))
                _ = [one async for one in chat.stream(request)] if streamed else await chat.complete(request)
        finally:
            await chat.close()

    asyncio.run(run())


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "refusal",
    [
        Reply.error(400, "unsupported_parameter", LIMITED),
        Reply.error(400, message=LIMITED),
        Reply.error(500, message=f"litellm.BadRequestError: OpenAIException - {LIMITED}"),
        Reply(422, {"detail": "Use `max_completion_tokens` instead"}),
    ],
)
def test_a_reasoning_model_under_another_name_is_found_out_once(
    loopback: Loopback, refusal: Reply, *, streamed: bool
) -> None:
    def fault(received: Received) -> Reply | None:
        return refusal if received.body.keys() & {"max_tokens", "temperature"} else None

    loopback.fault = fault
    ask(3, streamed=streamed, extra_body={"top_p": 1})
    limits = [{*one.body} - {"model", "messages", "stream"} for one in loopback.requests]
    assert limits == [{"max_tokens", "temperature", "top_p"}, *[{"max_completion_tokens", "top_p"}] * 3]
    assert {one.body.get("max_completion_tokens", 8192) for one in loopback.requests} == {8192}


def test_too_many_tokens_are_not_asked_for_by_another_name(loopback: Loopback) -> None:
    said = "'max_tokens' or 'max_completion_tokens' is too large: 8192."
    loopback.script.append(Reply.error(400, message=said))
    ask()
    assert [one.body["max_tokens"] for one in loopback.requests] == [8192, 2048]


@pytest.mark.parametrize(
    "model", ["ft:o4-mini-2025-04-16:acme::x", "global:gpt-6-luna", "azure/o3", "openai.gpt-6-luna"]
)
def test_a_reasoning_model_is_known_behind_a_prefix(model: str) -> None:
    assert reasoning_effort(LLMSettings(model=model)) == "medium"


@pytest.mark.parametrize("model", ["ft:gpt-4o-mini-2024-07-18:acme::o4", "marco-o1:7b", "prod-gpt-6-luna"])
def test_any_other_name_tells_nothing(model: str) -> None:
    assert reasoning_effort(LLMSettings(model=model)) is None


# Each failed a chunk for good, as if its text was refused, and the corrected setting asked nothing.
@pytest.mark.parametrize(
    "reply",
    [
        Reply.error(400, message="`temperature` is deprecated for this model"),
        Reply.error(400, "invalid_request_error", "invalid temperature: only 1 is allowed for this model"),
        Reply(400, {"error": {"message": "Invalid value", "code": "invalid_value", "param": "service_tier"}}),
        Reply(422, {"detail": [{"loc": ["body", "top_p"], "msg": "Input should be less than 1"}]}),
        Reply(
            400,
            {
                "error": {
                    "message": "Unsupported value: 'temperature' does not support 0 with this model.",
                    "type": "invalid_request_error",
                    "param": "temperature",
                    "code": "unsupported_value",
                }
            },
        ),
    ],
)
def test_a_refused_parameter_ends_the_run_and_names_its_settings(loopback: Loopback, reply: Reply) -> None:
    loopback.script.append(reply)
    with pytest.raises(ProviderAccessError, match=r"LIGHTRAG_LLM__TEMPERATURE and .*EXTRA_BODY.*temperature: null"):
        ask()
    ask(extra_body={"temperature": None, "top_p": 1})
    assert {*loopback.requests[-1].body} == {"model", "messages", "max_tokens", "top_p"}


def test_a_refused_text_and_a_full_tier_are_no_refused_parameter(loopback: Loopback) -> None:
    for reply, kind in (
        (Reply.error(400), PermanentProviderError),
        (Reply.error(429, message="service_tier flex has no room now"), TransientProviderError),
        (Reply.error(400, "content_filter", "The temperature of the text"), PermanentProviderError),
        (Reply.error(400, message="Prompt rejected: discusses temperature of explosives"), PermanentProviderError),
        (Reply.error(400, message="Invalid prompt: the water temperature is 4 degrees"), PermanentProviderError),
    ):
        loopback.script.append(reply)
        with pytest.raises(kind):
            ask()


def test_a_temperature_that_is_not_sent_shapes_nothing() -> None:
    def identity(model: str, temperature: float) -> str:
        return openai_chat_identity(LLMSettings(model=model, temperature=temperature))

    assert (
        identity("gpt-6-luna", 0.7)
        == identity("gpt-6-luna", 0)
        == "openai/gpt-6-luna?temperature=0.0&max_output_tokens=8192"
    )
    assert identity("gpt-4o", 0.7) != identity("gpt-4o", 0)
