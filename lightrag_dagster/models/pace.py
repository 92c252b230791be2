"""Limits of one endpoint: requests in flight, and requests and tokens a minute."""

import asyncio

from aiolimiter import AsyncLimiter

_MINUTE = 60.0


class Pace:
    """The limits that all calls to an endpoint share; a limit that is None does not limit. For one event loop."""

    def __init__(
        self, max_concurrency: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        self.places = asyncio.Semaphore(max_concurrency)
        self._order = asyncio.Lock()
        self._requests = _limiter(requests_per_minute)
        self._tokens = _limiter(tokens_per_minute)

    async def wait(self, tokens: int) -> None:
        """Wait until the limits a minute let a request of about `tokens` tokens go; first come, first served."""
        # Without the lock the limiter lets small requests overtake a large one again and again.
        async with self._order:
            if self._requests:
                await self._requests.acquire()
            if self._tokens:
                # A long request takes more than the bucket holds.
                whole, rest = divmod(tokens, self._tokens.max_rate)
                for part in [self._tokens.max_rate] * int(whole) + [rest]:
                    await self._tokens.acquire(part)


def _limiter(per_minute: int | None) -> AsyncLimiter | None:
    """Return a leaky bucket that lets `per_minute` through in any minute, a second's share of them at once."""
    if per_minute is None:
        return None
    at_once = max(1.0, per_minute / (_MINUTE + 1))
    return AsyncLimiter(at_once, _MINUTE * at_once / max(per_minute - at_once, 1.0))
