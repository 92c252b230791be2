"""Limits of a service: questions at once, a minute and in time."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from lightrag_dagster.serving.access import Caller


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
