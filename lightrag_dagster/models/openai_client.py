"""One OpenAI-compatible endpoint: a shared client, its pace, retries."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx2
from openai import AsyncOpenAI
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.openai_errors import SDK_ERRORS, FailedCallError, Target, explain, timed_out
from lightrag_dagster.models.pace import Pace
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

_OPENAI = "https://api.openai.com/v1"
_JITTER = wait_random(0, 0.5)
_BACKOFF = wait_exponential(multiplier=0.5, max=30) + _JITTER
_NO_KEY = "none"  # Servers that need no key still get a header, because the SDK insists on one.

Answer = TypeVar("Answer")


class Endpoint:
    """Calls one model; the client is made by the first call, so that stored answers need no key."""

    def __init__(self, settings: LLMSettings | EmbeddingSettings) -> None:
        """Read OPENAI_BASE_URL.

        Raises:
            ProviderAccessError: it is not a URL.
        """
        self._settings = settings
        self._base_url = os.environ.get("OPENAI_BASE_URL") or _OPENAI
        self._client: AsyncOpenAI | None = None
        self._pace = Pace(settings.max_concurrency, settings.requests_per_minute, settings.tokens_per_minute)
        self.target = Target(
            settings="LIGHTRAG_LLM__" if isinstance(settings, LLMSettings) else "LIGHTRAG_EMBEDDING__",
            model=settings.model,
            host=_host(self._base_url),
            timeout=settings.timeout,
            longest_wait=settings.longest_wait,
        )

    async def call(self, send: Callable[[AsyncOpenAI], Awaitable[Answer]], tokens: int) -> Answer:
        """Make one call by `send`, which may raise FailedCallError itself; try again where that may help.

        `tokens` is about what the call takes, for the limit of tokens a minute. Who waits to try again holds up nobody.

        Raises:
            ProviderError: the last attempt failed; the error has no cause or context, which might hold the key.
        """
        client = self._connected()
        retrying = AsyncRetrying(
            stop=stop_after_attempt(1 + self._settings.max_retries),
            wait=_wait,
            retry=retry_if_exception(lambda error: isinstance(error, FailedCallError) and error.retry),
            reraise=True,
        )
        try:
            return await retrying(self._attempt, send, client, tokens)
        except FailedCallError as failed:
            error = failed.error
        raise error

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _attempt(
        self, send: Callable[[AsyncOpenAI], Awaitable[Answer]], client: AsyncOpenAI, tokens: int
    ) -> Answer:
        async with self._pace.turn(tokens) as sent:
            try:
                # The SDK's own timeout begins anew with every byte that arrives.
                async with asyncio.timeout(self._settings.timeout):
                    answer = await send(client)
            except TimeoutError:
                failed = timed_out(self.target)
            except SDK_ERRORS as error:
                failed = explain(error, self.target)
            else:
                self._pace.speed_up()
                return answer
        if failed.overload:
            self._pace.slow_down(sent, failed.wait)
        raise failed

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = AsyncOpenAI(
                api_key=_key(self._base_url, self.target),
                base_url=self._base_url,
                timeout=self._settings.timeout,
                max_retries=0,
            )
        return self._client


def _key(base_url: str, target: Target) -> str:
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key:
        if base_url == _OPENAI:
            raise ProviderAccessError(
                f"OPENAI_API_KEY is not set (model {target.model}); set it, or OPENAI_BASE_URL for another server, "
                f"or {target.settings}PROVIDER=offline"
            )
        return _NO_KEY
    if not (key.isascii() and key.isprintable()):
        raise ProviderAccessError("OPENAI_API_KEY holds characters that no key has; copy it anew")
    return key


def _host(base_url: str) -> str:
    """Return host and port of a URL, without the user and password that it may hold."""
    try:
        url = httpx2.URL(base_url)
        usable = url.scheme in ("http", "https") and url.host and (url.port or 0) < 65536
    except httpx2.InvalidURL:
        usable = False
    if not usable:
        raise ProviderAccessError("OPENAI_BASE_URL is not a usable URL; it looks like http://localhost:8000/v1")
    return url.netloc.decode("ascii")


def _wait(state: RetryCallState) -> float:
    """Wait as long as the server asks for, else 0.5, 1, 2, 4 … 30 seconds; and a little, as others wait too."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, FailedCallError) and error.wait is not None:
        return error.wait + _JITTER(state)
    return _BACKOFF(state)
