"""Limits of one endpoint: requests in flight, and requests and tokens a minute."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

_MINUTE = 60.0

ReserveTime = Callable[[str, float], float]
"""Takes up so many seconds of a named timetable after what is taken already, and returns when they end, from now.

Who shares a timetable shares its limit: the calls of one process, or all processes of a knowledge base.
"""


class RateLimits:
    """The limits that all calls to an endpoint share; a limit that is None does not limit. For one event loop.

    A request takes up a part of a minute, and may go when at most a second's share of requests is ahead of it: the
    generic cell rate algorithm (ITU-T I.371), whose only state is when all that was let through is paid off.
    """

    def __init__(
        self,
        max_concurrency: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        name: str = "",
        reserve_time: ReserveTime | None = None,
    ) -> None:
        """Take the limits; `name` is that of the endpoint in timetables of `reserve_time`, by default ones of its own."""
        self.places = asyncio.Semaphore(max_concurrency)
        self._reserve_time = reserve_time or local_reservations()
        self._requests = requests_per_minute and _Rate(f"{name} requests", requests_per_minute)
        self._tokens = tokens_per_minute and _Rate(f"{name} tokens", tokens_per_minute)

    async def wait(self, tokens: int) -> None:
        """Wait until the limits a minute let a request of about `tokens` tokens go; first come, first served.

        Raises:
            StoreError: the timetable is in a database that cannot be used.
        """
        delays = [0.0]
        if self._requests:
            delays.append(self._requests.delay(self._reserve_time, 1))
        if self._tokens:
            delays.append(self._tokens.delay(self._reserve_time, tokens))
        await asyncio.sleep(max(delays))


def local_reservations() -> ReserveTime:
    """Return a claim on timetables in memory."""
    ends: dict[str, float] = {}

    def reserve_time(name: str, seconds: float) -> float:
        now = time.monotonic()
        ends[name] = max(ends.get(name, now), now) + seconds
        return ends[name] - now

    return reserve_time


@dataclass(frozen=True)
class _Rate:
    """So many a minute, in any minute, of which a second's share may go at once."""

    name: str
    per_minute: int

    def delay(self, reserve_time: ReserveTime, number: int) -> float:
        """Claim time for `number` of them, and return how long they have to wait. Seconds."""
        at_once = max(1.0, self.per_minute / (_MINUTE + 1))
        each = _MINUTE / max(self.per_minute - at_once, 1.0)
        # After a change of the limit, what was claimed at the old rate does not count.
        return reserve_time(f"{self.name} {self.per_minute}", number * each) - at_once * each
