"""The things that every door shares: callers, limits, bases, metrics and the log."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from tempfile import gettempdir

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.exceptions import HTTPException

from lightrag_dagster.errors import LightRAGError, NoSnapshotError
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.models import billed_to
from lightrag_dagster.serving.access import Caller, Tokens
from lightrag_dagster.serving.bases import Bases
from lightrag_dagster.serving.limits import ServiceLimits, Turnstile
from lightrag_dagster.serving.refusals import refusal
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import bucket_uri

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
    """True while a base is open, and no other is closed by an error: a scope may show nothing."""

    def __post_init__(self) -> None:
        self._bases, self._turnstile = Bases(self.settings), Turnstile(self.limits)
        folders = filter(None, (self.settings.home, self.settings.cache.folder, self.settings.prompts))
        named = [bucket_uri(self.settings.home), *(str(one.expanduser().absolute()) for one in folders), gettempdir()]
        self._places = re.compile("|".join(re.escape(one) for one in named if one))
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
                base = await self._bases.of(caller.scope)
                with billed_to(caller.account(self.settings.llm)):
                    yield base
            outcome = "ok"
        except Exception as error:
            refused = self.refusal(error, caller)
            outcome = str(refused.status_code)
            raise refused from None
        finally:
            self._questions.labels(door, outcome).observe(time.perf_counter() - began)

    def refusal(self, error: Exception, caller: Caller | None = None) -> HTTPException:
        """Return any error as a refusal to a caller; it names no place of this machine, and no step of its operator."""
        refused = refusal(error, caller, self._places)
        if self.tokens and refused.status_code == 503 and isinstance(error, LightRAGError):
            refused.detail = "there is nothing to ask here now; the log of the service has the cause"
        return refused

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
        scopes = {one.scope for one in (self.tokens.callers.values() if self.tokens else [self.anyone])}
        said = set[str]()
        while True:
            errors = await self._bases.look(scopes)
            before, said = said, set(map(str, errors))
            # A scope that shows nothing, or no longer, keeps no other from being asked.
            self.ready = len(errors) < len(scopes) and all(isinstance(one, NoSnapshotError) for one in errors)
            for line in said - before:
                _log.warning("not open: %s", line)
            await asyncio.sleep(5)
