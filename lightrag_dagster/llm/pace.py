"""How fast one endpoint is asked: requests in flight, and requests and tokens a minute.

The number in flight is halved when the server is overloaded and grows by one for each round of answers that arrive
without trouble (additive increase, multiplicative decrease: Chiu and Jain, 1989), up to the setting.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

_MINUTE = 60.0


class Pace:
    """Lets calls through one by one; everybody who calls the endpoint shares it. For one event loop."""

    def __init__(
        self, max_concurrency: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        """Start at full speed; a limit that is None does not limit."""
        self._most = max_concurrency
        self._allowed = float(max_concurrency)
        self._in_flight = 0
        self._resume_at = 0.0
        self._lowered_at = 0.0
        self._change = asyncio.Condition()
        self._requests = AsyncLimiter(requests_per_minute, _MINUTE) if requests_per_minute else None
        self._tokens = AsyncLimiter(tokens_per_minute, _MINUTE) if tokens_per_minute else None

    @property
    def allowed(self) -> int:
        """How many requests may be in flight now."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[None]:
        """Hold one place in flight for the block, for a request of about so many tokens; waits for its turn."""
        if self._requests:
            await self._requests.acquire()
        if self._tokens:
            # A request above the whole minute's allowance could never be let through.
            await self._tokens.acquire(min(tokens, self._tokens.max_rate))
        async with self._change:
            await self._change.wait_for(lambda: self._in_flight < self.allowed)
            self._in_flight += 1
        try:
            while (wait := self._resume_at - _now()) > 0:
                await asyncio.sleep(wait)
            yield
        finally:
            async with self._change:
                self._in_flight -= 1
                self._change.notify_all()

    def slow_down(self, wait: float | None) -> None:
        """Note that the server is overloaded: halve the pace, and let nobody through for `wait` seconds."""
        now = _now()
        # What was sent before the pace was lowered says nothing about the lower pace.
        if now >= self._lowered_at:
            self._allowed = max(1.0, self._allowed / 2)
        self._resume_at = max(self._resume_at, now + (wait or 0.0))
        self._lowered_at = max(self._resume_at, now + 0.1)

    def speed_up(self) -> None:
        """Note that an answer arrived."""
        self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)


def _now() -> float:
    return asyncio.get_running_loop().time()
