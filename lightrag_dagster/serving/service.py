"""What every door shares: who may ask, within which limits, which base answers, and what is written down of it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.access import Caller, Tokens
from lightrag_dagster.serving.bases import Bases
from lightrag_dagster.serving.limits import Limits, Turnstile
from lightrag_dagster.serving.metrics import Metrics
from lightrag_dagster.serving.refusals import refusal
from lightrag_dagster.settings import Settings

_log = logging.getLogger("lightrag_dagster.serving")


@dataclass
class Service:
    """A knowledge base, or one for each scope, behind doors."""

    settings: Settings
    tokens: Tokens | None = None
    """Without any, everyone who reaches the service may ask."""
    scope: str | None = None
    """The scope of those who ask without a token."""
    limits: Limits = field(default_factory=Limits)
    logs_questions: bool = False
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.bases = Bases(self.settings, self.limits.seconds)
        self.turnstile = Turnstile(self.limits)
        self.warmed: asyncio.Task[None] | None = None

    @property
    def anyone(self) -> Caller:
        """The caller where there are no tokens."""
        return Caller(name="anyone", scope=self.scope)

    @property
    def ready(self) -> bool:
        """True when every scope that a token names is open."""
        return self.warmed is not None and self.warmed.done() and self.warmed.exception() is None

    @asynccontextmanager
    async def asking(self, caller: Caller, door: str, question: object) -> AsyncIterator[KnowledgeBase]:
        """Yield the base that answers one question; every error leaves the block as RefusedError."""
        if self.logs_questions:
            _log.info("%s of %s: %r", door, caller.name, question)
        began, outcome = time.perf_counter(), "left"
        self.metrics.asking.inc()
        try:
            async with self.turnstile.passing(caller), self.bases.asked_by(caller) as base:
                yield base
            outcome = "ok"
        except Exception as error:
            refused = refusal(error)
            outcome = str(refused.status)
            raise refused from None
        finally:
            self.metrics.asking.dec()
            self.metrics.questions.labels(door, outcome).observe(time.perf_counter() - began)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the bases beside the block, and close them after it."""
        scopes = {one.scope for one in self.tokens.callers} if self.tokens else {self.scope}
        self.warmed = asyncio.create_task(self._warm(scopes))
        try:
            yield
        finally:
            self.warmed.cancel()
            await asyncio.gather(self.warmed, return_exceptions=True)
            await self.bases.close()

    async def _warm(self, scopes: set[str | None]) -> None:
        """Open the bases, and try again every few seconds where nothing is published yet."""
        while True:
            try:
                return await self.bases.warm(scopes)
            except Exception as error:
                _log.warning("not ready: %s", refusal(error))
                await asyncio.sleep(self.limits.seconds / 12)
