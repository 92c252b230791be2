"""How fast one endpoint is asked: requests in flight, and requests and tokens a minute.

The number in flight is halved when the server is overloaded and grows by one for each round of answers that arrive
without trouble (additive increase, multiplicative decrease: Chiu and Jain, 1989), up to the setting.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

_MINUTE = 60.0
# What may be sent at once after a pause: a second's share.
_SECONDS_AT_ONCE = 1.0


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
        self._order = asyncio.Lock()
        self._requests = _limiter(requests_per_minute)
        self._tokens = _limiter(tokens_per_minute)

    @property
    def allowed(self) -> int:
        """How many requests may be in flight now."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[float]:
        """Hold one place in flight for the block, for a request of about so many tokens; waits for its turn.

        Yields when the turn came, for `slow_down`.
        """
        # In order: left to itself the limiter lets small requests overtake large ones for ever.
        async with self._order:
            if self._requests:
                await self._requests.acquire()
            if self._tokens:
                # The bucket holds less than a long request takes.
                whole, rest = divmod(tokens, self._tokens.max_rate)
                for part in [self._tokens.max_rate] * int(whole) + [rest]:
                    await self._tokens.acquire(part)
        async with self._change:
            try:
                await self._change.wait_for(lambda: self._in_flight < self.allowed)
            except asyncio.CancelledError:
                self._wake()  # It may have been told of a place that it no longer takes.
                raise
            self._in_flight += 1
        try:
            while (wait := self._resume_at - _now()) > 0:
                await asyncio.sleep(wait)
            yield _now()
        finally:
            async with self._change:
                self._in_flight -= 1
                self._wake()

    def slow_down(self, sent: float, wait: float | None) -> None:
        """Note that a request met an overloaded server: halve the pace, and let nobody through for `wait` seconds."""
        now = _now()
        # What was sent before the pace was lowered says nothing about the lower pace.
        if sent >= self._lowered_at:
            self._allowed = max(1.0, self._allowed / 2)
            self._lowered_at = now
        self._resume_at = max(self._resume_at, now + (wait or 0.0))

    def speed_up(self) -> None:
        """Note that an answer arrived."""
        self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)

    def _wake(self) -> None:
        """Tell as many of those who wait as there are free places."""
        self._change.notify(max(0, self.allowed - self._in_flight))


def _limiter(per_minute: int | None) -> AsyncLimiter | None:
    """Return a leaky bucket that lets at most `per_minute` through in any minute, its first included."""
    if per_minute is None:
        return None
    at_once = max(1.0, per_minute * _SECONDS_AT_ONCE / (_MINUTE + _SECONDS_AT_ONCE))
    steadily = max(per_minute - at_once, 1.0)
    return AsyncLimiter(at_once, _MINUTE * at_once / steadily)


def _now() -> float:
    return asyncio.get_running_loop().time()
