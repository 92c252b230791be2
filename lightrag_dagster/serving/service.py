"""The things that every door shares: callers, limits, the bases, opened when first asked, metrics and the log."""

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.exceptions import HTTPException

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.access import Caller, Tokens
from lightrag_dagster.serving.refusals import refusal
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account


@dataclass(frozen=True)
class ServiceLimits:
    """The most that a service does; a question beyond is refused, with the time after which to ask again."""

    seconds: float = 60.0
    """Time of a question, waiting included."""
    at_once: int = 16
    """Questions that are being answered."""
    waiting: int = 128
    """Questions that wait for one of these to end."""
    body_bytes: int = 1_000_000
    """Length of the body of a request."""


class Turnstile:
    """The place that every question passes: it counts the caller's, waits for a free place, and ends it in time."""

    def __init__(self, limits: ServiceLimits) -> None:
        """Start empty; belongs to the event loop of its first question."""
        self._limits, self._free, self._inside = limits, asyncio.Semaphore(limits.at_once), 0
        self._asked: dict[str, deque[float]] = defaultdict(deque)

    @asynccontextmanager
    async def passing(self, caller: Caller) -> AsyncIterator[None]:
        """Answer a question in the block; raises HTTPException."""
        self._count(caller)
        if self._inside >= (most := self._limits.at_once + self._limits.waiting):
            raise HTTPException(
                503, f"{most} questions are being answered or wait; ask again in a second", {"Retry-After": "1"}
            )
        self._inside += 1
        try:
            async with asyncio.timeout(self._limits.seconds) as bound, self._free:
                yield
        except TimeoutError:
            if not bound.expired():
                raise
            said = f"the question took more than {self._limits.seconds:g} s and was ended; ask for less"
            raise HTTPException(504, said) from None
        finally:
            self._inside -= 1

    def _count(self, caller: Caller) -> None:
        if caller.requests_a_minute is None:
            return
        asked, now = self._asked[caller.name], time.monotonic()
        while asked and asked[0] <= now - 60:
            asked.popleft()
        if len(asked) >= caller.requests_a_minute:
            wait = max(1, round(asked[0] + 60 - now))
            said = f"this token asks {caller.requests_a_minute} times a minute; ask again in {wait} s"
            raise HTTPException(429, said, {"Retry-After": f"{wait}"})
        asked.append(now)


class Bases:
    """A knowledge base for each scope, and one for each caller and day with a limit of dollars.

    A caller with a limit has an account, named by the token and the day in UTC: the ledger adds up what is spent, and
    no model is asked beyond, nor beyond the limits of a day and a month in the settings.
    """

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._opened: dict[tuple[str | None, str, str], asyncio.Task[KnowledgeBase]] = {}

    async def of(self, caller: Caller) -> KnowledgeBase:
        """Return the base that a caller asks; raises as `KnowledgeBase.open`."""
        today = datetime.now(UTC).date().isoformat()
        key = (caller.scope, "", "") if caller.dollars_a_day is None else (caller.scope, caller.name, today)
        for old in [one for one in self._opened if one[:2] == key[:2] and one != key]:
            self._opened.pop(old).add_done_callback(_close_unused)
        if key not in self._opened:
            self._opened[key] = asyncio.create_task(asyncio.to_thread(self._open, caller, today))
        try:
            return await asyncio.shield(self._opened[key])
        except Exception:
            self._opened.pop(key, None)  # the next question opens it again
            raise

    def _open(self, caller: Caller, today: str) -> KnowledgeBase:
        account = None
        if caller.dollars_a_day is not None:
            of_all = Account.of(f"serve {caller.name} {today}", "", self._settings.llm)
            account = replace(of_all, max_cost_usd=caller.dollars_a_day)
        base = KnowledgeBase.follow(settings=self._settings, scope=caller.scope, account=account)
        base.warm()
        return base

    async def look(self, scopes: Iterable[str | None]) -> list[Exception]:
        """Open what some scopes show, have every base look at what is published, and return the errors.

        So no base holds a replaced snapshot, and one scope without any keeps no other from looking.
        """
        opening = (self.of(Caller(name="opening", scope=one)) for one in scopes)
        opened = await asyncio.gather(*opening, return_exceptions=True)
        bases = [one.result() for one in self._opened.values() if one.done() and not one.exception()]
        looked = await asyncio.gather(*(asyncio.to_thread(one.refresh) for one in bases), return_exceptions=True)
        return [one for one in (*opened, *looked) if isinstance(one, Exception)]

    async def close(self) -> None:
        """Close every base."""
        opened = await asyncio.gather(*self._opened.values(), return_exceptions=True)
        bases = [one for one in opened if not isinstance(one, BaseException)]
        await asyncio.gather(*(asyncio.to_thread(one.close) for one in bases), return_exceptions=True)


def _close_unused(opened: "asyncio.Task[KnowledgeBase]") -> None:
    """Close the base of a day that is over when its last question has ended."""
    if not opened.exception():
        opened.result().close_unused()


_log = logging.getLogger("lightrag_dagster.serving")

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_DESCRIBED = "Time of questions by door and outcome: ok, left, or the status of the refusal"


@dataclass
class Service:
    """A knowledge base, or one for each scope, behind doors.

    Without `tokens`, everyone who reaches it may ask, in `scope`. Metrics name no caller and no question.
    """

    settings: Settings
    tokens: Tokens | None = None
    scope: str | None = None
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    logs_questions: bool = False
    ready: bool = False
    """True while every scope that a token names is open."""

    def __post_init__(self) -> None:
        self._bases, self._turnstile = Bases(self.settings), Turnstile(self.limits)
        self._place = str(self.settings.home.expanduser().absolute())
        self.anyone = Caller(name="anyone", scope=self.scope)
        self.metrics = CollectorRegistry()
        told = ("lightrag_question_seconds", _DESCRIBED, ["door", "outcome"])
        self._questions = Histogram(*told, buckets=_SECONDS, registry=self.metrics)
        told = ("lightrag_http_requests", "Requests by path and status", ["path", "status"])
        self.requests = Counter(*told, registry=self.metrics)

    @asynccontextmanager
    async def asking(self, caller: Caller, door: str, question: object) -> AsyncIterator[KnowledgeBase]:
        """Yield the base that answers one question; every error leaves the block as HTTPException."""
        if self.logs_questions:
            _log.info("%s of %s: %r", door, caller.name, question)  # as code, so that it writes no lines of its own
        began, outcome = time.perf_counter(), "left"
        try:
            async with self._turnstile.passing(caller):
                yield await self._bases.of(caller)
            outcome = "ok"
        except Exception as error:
            refused = self.refusal(error, caller)
            outcome = str(refused.status_code)
            raise refused from None
        finally:
            self._questions.labels(door, outcome).observe(time.perf_counter() - began)

    def refusal(self, error: Exception, caller: Caller | None = None) -> HTTPException:
        """Return any error as a refusal to a caller; it names no place of this machine."""
        return refusal(error, caller, self._place)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the bases beside the block, and close them after it."""
        opening = asyncio.create_task(self._open())
        try:
            yield
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            await self._bases.close()

    async def _open(self) -> None:
        """Open the base of each scope, and see every few seconds that all are open and of what is published now."""
        callers = self.tokens.callers.values() if self.tokens else [self.anyone]
        scopes = {one.scope for one in callers}
        while True:
            errors = await self._bases.look(scopes)
            self.ready = not errors
            for error in errors:
                _log.warning("not ready: %s", self.refusal(error).detail)
            await asyncio.sleep(5)
