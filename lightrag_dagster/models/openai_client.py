"""One OpenAI-compatible endpoint: a shared client, its limits, and retries."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import TypeVar

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from tenacity import AsyncRetrying, RetryCallState, stop_after_attempt, wait_exponential, wait_random

from lightrag_dagster.core.attempts import afford, bill
from lightrag_dagster.core.progress import note
from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, ProviderAwayError, ProviderError
from lightrag_dagster.models.access import missing, prefix_of
from lightrag_dagster.models.clouds import signing
from lightrag_dagster.models.openai_errors import FORBIDDEN_TEXT, FailedCallError, Target, explain, timed_out
from lightrag_dagster.models.places import CREDENTIALS, place_of
from lightrag_dagster.models.rate_limit import RateLimits, ReserveTime
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

_JITTER = wait_random(0, 0.5)
_BACKOFF = wait_exponential(multiplier=0.5, max=30) + _JITTER
_NO_KEY = "none"  # Servers that need no key still get a header, because the SDK insists on one.
_SILENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_MOST_FORBIDDEN = 20

MOST_FAILED = 10
"""Requests in a row of which every attempt failed, after which an endpoint that does not answer a short one ends it."""

unanswered: Counter[Target] = Counter()
"""Such requests since the last answer, as this process counts them over all sources and threads."""

Answer = TypeVar("Answer")

_log = logging.getLogger(__name__)


class Endpoint:
    """The endpoint of one model; its client is made by the first call, so that stored answers need no key."""

    def __init__(self, settings: LLMSettings | EmbeddingSettings, reserve_time: ReserveTime | None = None) -> None:
        """Find the place; `reserve_time` reserves time in the rate limits of the endpoint.

        Raises:
            ProviderAccessError: the address is not a URL, or a cloud's variable is not set.
        """
        self._settings = settings
        self._place = place = place_of(settings)
        self._client: AsyncOpenAI | None = None
        self.target = Target(
            settings=prefix_of(settings),
            model=settings.model,
            host=place.host,
            timeout=settings.timeout,
            longest_wait=settings.longest_wait,
            address=place.setting,
            key=CREDENTIALS.get(settings.provider) or place.variable or "api_key_env, which names no variable,",
        )
        self._pace = RateLimits(
            settings.max_concurrency,
            settings.requests_per_minute,
            settings.tokens_per_minute,
            name=f"{self.target.host} {settings.model}",
            reserve_time=reserve_time,
        )
        self._passed, self._forbidden, self._untold, self._unpaid = False, 0, 0, 0
        self._refused = False
        self._silence = _Silence(self.target.host, 1 + settings.max_retries)

    async def call(
        self,
        send: Callable[[AsyncOpenAI], Awaitable[Answer]],
        tokens: int,
        probe: Callable[[AsyncOpenAI], Awaitable[object]] | None = None,
    ) -> Answer:
        """Make one call by `send`, which may raise FailedCallError itself; retry if that may help.

        `tokens` is a rough size of the call, for the limit of tokens per minute. After many calls in a row that failed,
        `probe`, a short one, tells whether the endpoint is out of order; without it, none is found to be.

        Raises:
            ProviderError: the last attempt failed; the error has no cause or context, which might hold the key.
        """
        client, said = self._connected(), [""]

        def again(state: RetryCallState) -> bool:
            error = state.outcome.exception() if state.outcome else None
            if not isinstance(error, FailedCallError):
                return False
            if error.given_up or error.billed:
                bill(error.billed)
            said.append(error.said)
            return error.retry and not _is_said_again(said)

        retrying = AsyncRetrying(
            stop=stop_after_attempt(1 + self._settings.max_retries),
            wait=_wait,
            retry=again,
            before_sleep=lambda state: self._silence.say(state.attempt_number + 1),
            reraise=True,
        )
        ask_shortly = partial(retrying, self._attempt, probe, client, 1) if probe else None
        # A call keeps its place while it waits for a retry, so an overloaded server is asked less.
        async with self._pace.places:
            self._silence.count(1)
            try:
                return await retrying(self._attempt, send, client, tokens)
            except FailedCallError as failed:
                error = await self._last_error(failed, said, ask_shortly)
            finally:
                self._silence.count(-1)
        raise error

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _attempt(
        self, send: Callable[[AsyncOpenAI], Awaitable[Answer]], client: AsyncOpenAI, tokens: int
    ) -> Answer:
        self._unpaid += 1
        try:
            await afford()
        finally:
            self._unpaid -= 1
        await self._pace.wait(tokens)
        try:
            # The SDK's own timeout starts again with every byte that arrives.
            async with asyncio.timeout(self._settings.timeout):
                answer = await send(client)
            self._passed, self._forbidden = True, 0
            unanswered[self.target] = 0
            return answer
        except asyncio.CancelledError:
            if self._passed or not self._refused:
                bill(None)
            raise
        except TimeoutError:
            failed = timed_out(self.target)
        except openai.PermissionDeniedError as error:
            failed = explain(error, self.target, *([FORBIDDEN_TEXT] if await self._is_about_text(error) else []))
        except openai.OpenAIError as error:
            failed = explain(error, self.target)
        raise failed

    async def _last_error(
        self, failed: FailedCallError, said: Sequence[str], ask_shortly: Callable[[], Awaitable[object]] | None
    ) -> ProviderError:
        """Return the error of a call whose last attempt failed; `said` are the answers of no use so far."""
        error, is_free = failed.error, not failed.billed and not failed.given_up
        if _is_said_again(said):
            error = PermanentProviderError(f"{error}; it said so twice, and `run --retry-failed` asks again")
        elif failed.is_page and not self._passed:  # something else answers at this address
            error = ProviderAccessError(str(error))
        elif failed.is_outage and ask_shortly and await self._is_last(ask_shortly):
            is_free = False  # others may be answered, and are billed then
            told = f"{MOST_FAILED} requests in a row to {self.target.host} failed (model {self.target.model})"
            error = ProviderAwayError(f"{told}, and a short one after them: {error}; what arrived is kept")
        # Then the calls beside it are refused too, and free, unless some call has passed.
        self._refused |= isinstance(error, ProviderAccessError) and is_free
        return error

    async def _is_last(self, ask_shortly: Callable[[], Awaitable[object]]) -> bool:
        """Count a request of which every attempt failed; return True if the endpoint is to be asked no more.

        After many in a row a short one tells, with as many attempts: if it is answered, or refused, the endpoint only
        fails at some texts.
        """
        unanswered[self.target] += 1
        if unanswered[self.target] != MOST_FAILED:
            return False
        is_last = False
        try:
            await ask_shortly()
        except FailedCallError as short:
            is_last = short.is_outage
        unanswered[self.target] = 0
        return is_last

    async def _is_about_text(self, error: openai.PermissionDeniedError) -> bool:
        """Return True if a server or a gateway before it that lets other calls pass forbids this one.

        The calls in flight tell, if none has ended; those that wait for money may wait for this one's. A page of a
        gateway is about a text however often it comes; after many other refusals in a row, the key is no longer good.
        """
        self._forbidden += 1
        self._untold += 1
        while not self._passed and self._untold < self._silence.open - self._unpaid:
            await asyncio.sleep(_LOOK_SECONDS)
        self._untold -= 1
        return self._passed and (not isinstance(error.body, dict | list) or self._forbidden <= _MOST_FORBIDDEN)

    def _key(self) -> str:
        if said := missing(self._settings):
            raise ProviderAccessError(said)
        return self._place.key() or _NO_KEY

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            place, url = self._place, httpx2.URL(self._place.url)
            signed = signing(self._settings.provider, place)
            self._client = AsyncOpenAI(
                **(signed or {"api_key": self._key(), "base_url": url.copy_with(query=None)}),
                default_headers=place.sent_headers(),
                default_query=dict(url.params),  # to which the SDK would append its paths
                timeout=self._settings.timeout,
                max_retries=0,
                # The texts of documents go only to the configured host.
                http_client=DefaultAsyncHttpxClient(follow_redirects=False),
            )
            # They go where OpenAI's key goes; and not for a variable that is set and empty, as the SDK would.
            ours = place.setting == "OPENAI_BASE_URL"
            self._client.organization = (ours and self._client.organization) or None
            self._client.project = (ours and self._client.project) or None
        return self._client


@cache
def warn_of_estimate(target: Target) -> None:
    """Say, once in a process, that the tokens of a model's answers are estimated, and so what they cost."""
    _log.warning(
        "model %s at %s does not report the tokens of its answers; they are estimated, too high rather than too low",
        target.model,
        target.host,
    )


class _Silence:
    """Notes in the progress about retries, or a while without any answer."""

    def __init__(self, host: str, attempts: int) -> None:
        self._text = f"waiting for {host}, attempt {{}} of {attempts}"
        self.open = self._said = 0
        self._timer: asyncio.TimerHandle | None = None

    def count(self, change: int) -> None:
        """Count a call that begins (1) or is over (-1), and listen from now on."""
        self.open += change
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_SILENCE_SECONDS, self.say, 1) if self.open else None
        if self._said:
            self._said = 0
            note("")

    def say(self, attempt: int) -> None:
        """Note the number of an attempt, unless a later one was noted."""
        if attempt > self._said:
            self._said = attempt
            note(self._text.format(attempt))


def _is_said_again(said: Sequence[str]) -> bool:
    """Return True if a model's last answer of no use is the one before it."""
    return bool(said[-1]) and list(said[-2:]) == [said[-1]] * 2


def _wait(state: RetryCallState) -> float:
    """Wait the time that the server asks for, else 0.5, 1, 2, 4 … 30 seconds; and a random bit more."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, FailedCallError) and error.wait is not None:
        return error.wait + _JITTER(state)
    return _BACKOFF(state)
