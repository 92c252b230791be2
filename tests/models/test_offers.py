"""A schema for answers, against servers that take, refuse or merely fail a request that has one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lightrag_dagster.core.attempts import paying
from lightrag_dagster.core.protocols import ChatResponse, rough_tokens
from lightrag_dagster.errors import ProviderAccessError, ProviderError, TransientProviderError
from lightrag_dagster.models import openai_chat
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import extraction_request
from tests.loopback import Loopback, Received, Reply

BY_SCHEMA = extraction_request(load_prompts(None), "Ants dig.", None, None, "json_schema")
NAMED, BESIDE, PLAIN = "json_schema", "beside", "plain"
FAULT = Reply.error(500, message="no")


@pytest.fixture(autouse=True)
def _nothing_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chat._schemas, "known", {})
    monkeypatch.setattr(openai_chat, "_probed", set())


def ask() -> ProviderError | None:
    """Ask once, without a retry; return the error."""

    async def run() -> ProviderError | None:
        chat = OpenAIChatModel(LLMSettings(provider="openai", model="m", max_retries=0))
        try:
            await chat.complete(BY_SCHEMA)
        except ProviderError as error:
            return error
        finally:
            await chat.close()
        return None

    return asyncio.run(run())


def form(body: dict[str, Any]) -> str:
    """Return the form in which a request has its schema."""
    asked = body.get("response_format", {})
    return BESIDE if asked.get("schema") == BY_SCHEMA.answer_schema else asked.get("type", PLAIN)


def sent(loopback: Loopback) -> list[str]:
    forms = [form(request.body) for request in loopback.requests]
    loopback.requests.clear()
    return forms


def failing(*forms: str) -> Callable[[Received], Reply | None]:
    """Fail requests of these forms, and say nothing of the reason."""
    return lambda received: FAULT if form(received.body) in forms else None


def test_a_schema_that_is_refused_by_name_goes_beside_the_format(
    loopback: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    loopback.schemas = "beside"
    assert (ask(), ask()) == (None, None)
    assert sent(loopback) == [NAMED, BESIDE, BESIDE]
    assert [one.getMessage() for one in caplog.records] == [
        f"{loopback.host} takes no json_schema; it gets the schema beside json_object for model m"
    ]


def test_a_schema_that_is_refused_in_both_forms_is_an_error_of_settings(loopback: Loopback) -> None:
    loopback.schemas = "refused"
    error = ask()
    assert isinstance(error, ProviderAccessError)
    assert "set LIGHTRAG_EXTRACTION__ANSWER_FORMAT" in str(error)
    assert sent(loopback) == [NAMED, BESIDE]


def test_a_request_without_a_schema_that_tells_why_is_billed(loopback: Loopback) -> None:
    loopback.fault = failing(NAMED)
    billed, afforded = list[ChatResponse | None](), list[None]()

    async def afford() -> None:
        afforded.append(None)

    with paying(billed.append, afford):
        assert ask() is None
    assert sent(loopback) == [NAMED, PLAIN, NAMED, BESIDE]
    assert billed == [ChatResponse("", input_tokens=rough_tokens(BY_SCHEMA), output_tokens=16)]
    assert len(afforded) == 2, "and the request after it is paid for apart"


def test_a_schema_is_known_to_be_taken(loopback: Loopback) -> None:
    ask()
    loopback.fault = failing(NAMED)
    assert isinstance(ask(), TransientProviderError)
    assert sent(loopback) == [NAMED, NAMED]


@pytest.mark.parametrize(
    ("failed", "kind", "first", "second"),
    [
        ([NAMED], None, [NAMED, PLAIN, NAMED, BESIDE], [BESIDE]),
        ([NAMED, BESIDE], ProviderAccessError, [NAMED, PLAIN, NAMED, BESIDE], [NAMED]),  # this one ends the run
        ([NAMED, BESIDE, PLAIN], TransientProviderError, [NAMED, PLAIN], [NAMED]),  # all fail: it is the server
    ],
)
def test_a_failure_without_a_reason_is_tried_without_the_schema_once(
    loopback: Loopback, failed: list[str], kind: type[ProviderError] | None, first: list[str], second: list[str]
) -> None:
    loopback.fault = failing(*failed)
    assert type(ask()) is (kind or type(None))
    assert sent(loopback) == first
    ask()
    assert sent(loopback) == second


def test_a_failure_that_passes_tells_nothing_of_the_schema(loopback: Loopback) -> None:
    loopback.script.append(FAULT)
    assert (ask(), ask()) == (None, None)
    assert sent(loopback) == [NAMED, PLAIN, NAMED, NAMED]
