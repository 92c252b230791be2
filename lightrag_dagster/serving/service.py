"""The things that every door shares: callers, limits, bases, metrics and the log."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.access import Caller, Tokens
from lightrag_dagster.serving.bases import Bases
from lightrag_dagster.serving.limits import ServiceLimits, Turnstile
from lightrag_dagster.serving.refusals import refusal
from lightrag_dagster.settings import Settings

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
        self._bases, self._turnstile = Bases(self.settings, self.limits.seconds), Turnstile(self.limits)
        self._place = str(self.settings.home.expanduser().absolute())
        self.anyone = Caller(name="anyone", scope=self.scope)
        self.metrics = CollectorRegistry()
        told = ("lightrag_question_seconds", _DESCRIBED, ["door", "outcome"])
        self._questions = Histogram(*told, buckets=_SECONDS, registry=self.metrics)
        told = ("lightrag_http_requests", "Requests by path and status", ["path", "status"])
        self.requests = Counter(*told, registry=self.metrics)

    @asynccontextmanager
    async def asking(self, caller: Caller, door: str, question: object) -> AsyncIterator[KnowledgeBase]:
        """Yield the base that answers one question; every error leaves the block as RefusedError."""
        if self.logs_questions:
            _log.info("%s of %s: %r", door, caller.name, question)  # as code, so that it writes no lines of its own
        began, outcome = time.perf_counter(), "left"
        try:
            async with self._turnstile.passing(caller), self._bases.asked_by(caller) as base:
                yield base
            outcome = "ok"
        except Exception as error:
            refused = refusal(error, self._place)
            outcome = str(refused.status)
            raise refused from None
        finally:
            self._questions.labels(door, outcome).observe(time.perf_counter() - began)

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
        while True:
            try:
                opening = (self._bases.of(Caller(name="opening", scope=one)) for one in {one.scope for one in callers})
                # One scope without a snapshot is no reason for the others to show what was replaced.
                opened = await asyncio.gather(*opening, return_exceptions=True)
                await self._bases.look()
                for one in opened:
                    if isinstance(one, BaseException):
                        raise one
                self.ready = True
            except Exception as error:
                self.ready = False
                _log.warning("not ready: %s", refusal(error, self._place))
            await asyncio.sleep(5)
