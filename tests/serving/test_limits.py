"""ServiceLimits: who asks too often, too many at once, or for too long is told so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message

from lightrag_dagster.errors import EmbeddingError, ProviderAwayError, StoreError
from lightrag_dagster.serving.access import Caller
from lightrag_dagster.serving.app import _send_lines
from lightrag_dagster.serving.limits import ServiceLimits, Turnstile
from lightrag_dagster.settings import load_settings
from tests.serving.doors import service_of, tokens


async def statuses(limits: ServiceLimits, callers: list[Caller], seconds: float) -> list[int]:
    """Return the status of each question, asked at once; 200 for an answer."""
    turnstile = Turnstile(limits)

    async def ask(caller: Caller) -> None:
        async with turnstile.passing(caller):
            await asyncio.sleep(seconds)

    async def status(asked: Awaitable[None]) -> int:
        try:
            await asked
        except HTTPException as error:
            return error.status_code
        return 200

    return await asyncio.gather(*(status(ask(one)) for one in callers))


KEEPER, OTHER = Caller(name="keeper", requests_a_minute=2), Caller(name="other")


@pytest.mark.parametrize(
    ("limits", "callers", "seconds", "found"),
    [
        (ServiceLimits(), [KEEPER, KEEPER, KEEPER, OTHER, OTHER, OTHER], 0, [200, 200, 429, 200, 200, 200]),
        (ServiceLimits(at_once=1, waiting=1), [OTHER, OTHER, OTHER], 0.05, [200, 200, 503]),
        (ServiceLimits(seconds=0.1), [OTHER], 5, [504]),
        (ServiceLimits(seconds=0.4, at_once=1), [OTHER, OTHER], 0.3, [200, 504]),
    ],
)
def test_questions_beyond_a_limit_are_refused(
    limits: ServiceLimits, callers: list[Caller], seconds: float, found: list[int]
) -> None:
    assert asyncio.run(statuses(limits, callers, seconds)) == found


def test_a_refusal_says_when_to_ask_again() -> None:
    async def ask() -> None:
        turnstile = Turnstile(ServiceLimits())
        for _ in range(3):
            async with turnstile.passing(KEEPER):
                pass

    with pytest.raises(HTTPException, match="2 times a minute; ask again in 60 s") as raised:
        asyncio.run(ask())
    assert raised.value.headers == {"Retry-After": "60"}


def test_a_timeout_of_the_question_itself_is_not_ours() -> None:
    async def ask() -> None:
        async with Turnstile(ServiceLimits()).passing(OTHER):
            raise TimeoutError("of a model")

    with pytest.raises(TimeoutError, match="of a model"):
        asyncio.run(ask())


def test_an_error_within_a_stream_names_no_place_of_the_server(tmp_path: Path) -> None:
    service, sent = service_of(tmp_path), list[Any]()

    async def lines() -> AsyncIterator[dict[str, Any]]:
        yield {"references": []}
        raise StoreError(f"{tmp_path}/generations/x is damaged")

    async def send(message: Message) -> None:
        sent.append(message.get("body"))

    with pytest.raises(HTTPException, match="the home/generations/x is damaged"):
        asyncio.run(_send_lines(service, [], lines(), send))
    assert sent[1:] == [b'{"references": []}\n', b'{"error": "the home/generations/x is damaged"}\n']


def test_who_asks_from_outside_is_not_told_what_the_operator_has_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = service_of(tmp_path, tokens=tokens(keeper={}))
    said = service.refusal(StoreError("x is damaged; run `lightrag-dagster run --verify`"))
    assert said.status_code == 503
    assert said.detail == "there is nothing to ask here now; the log of the service has the cause"
    assert caplog.messages == ["x is damaged, answered with 503"]


def test_an_error_names_no_place_of_the_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = load_settings(
        home="s3://corp-kb/prod", cache={"folder": tmp_path / "cache"}, prompts=tmp_path / "prompts"
    )
    service = service_of(settings)
    said = service.refusal(StoreError(f"s3://corp-kb/prod/NEWEST and {tmp_path}/cache/ab/NEWEST differ"))
    assert (said.status_code, said.detail) == (503, "the home/NEWEST and the home/ab/NEWEST differ")
    for place in (f"{tmp_path}/prompts", gettempdir()):
        assert service.refusal(StoreError(f"{place}/x cannot be read")).detail == "the home/x cannot be read"
    caplog.set_level("WARNING", "lightrag_dagster.serving")
    for error in (ProviderAwayError, EmbeddingError):
        said = service.refusal(error("llm.corp:81 cannot be reached (model m); check OPENAI_BASE_URL"))
        assert (said.status_code, said.detail) == (502, "the model gave no usable answer; ask again later")
        assert caplog.messages[-1] == "llm.corp:81 cannot be reached, answered with 502"


def test_a_client_that_does_not_read_keeps_its_place_no_longer_than_its_time(tmp_path: Path) -> None:
    async def lines() -> AsyncIterator[dict[str, Any]]:
        yield {"references": []}
        yield {"response": "…"}

    async def unread(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def ask() -> None:
        async with Turnstile(ServiceLimits(seconds=0.1)).passing(OTHER):
            await _send_lines(service_of(tmp_path), [], lines(), unread)

    with pytest.raises(HTTPException, match=r"more than 0\.1 s and was ended"):
        asyncio.run(asyncio.wait_for(ask(), 10))
