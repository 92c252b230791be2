"""Limits of one endpoint: requests in flight, and requests and tokens a minute."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

_MINUTE = 60.0

ReserveTime = Callable[[str, float], float]
"""A function that reserves seconds in a named rate limit, and returns the delay until the reservation ends.

All users of a name share the limit: the calls of one process, or all processes of a knowledge base.
"""


class RateLimits:
    """The limits that all calls to an endpoint share; a limit that is None does not limit. For one event loop.

    A request reserves a part of a minute, and may go when at most a second's share of requests is ahead of it: the
    generic cell rate algorithm (ITU-T I.371), whose only state is the end of all reservations.
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
        """Take the limits; `name` is the endpoint's name in `reserve_time`, by default limits of this object alone."""
        self.places = asyncio.Semaphore(max_concurrency)
        self._reserve_time = reserve_time or local_reservations()
        self._requests = requests_per_minute and _Rate(f"{name} requests", requests_per_minute)
        self._tokens = tokens_per_minute and _Rate(f"{name} tokens", tokens_per_minute)

    async def wait(self, tokens: int) -> None:
        """Wait until the limits per minute let a request of about `tokens` tokens go; first come, first served.

        Raises:
            StoreError: the reservations are in a database that cannot be used.
        """
        delays = [0.0]
        if self._requests:
            delays.append(self._requests.delay(self._reserve_time, 1))
        if self._tokens:
            delays.append(self._tokens.delay(self._reserve_time, tokens))
        await asyncio.sleep(max(delays))


def local_reservations() -> ReserveTime:
    """Return a function that keeps reservations in memory."""
    ends: dict[str, float] = {}

    def reserve_time(name: str, seconds: float) -> float:
        now = time.monotonic()
        ends[name] = max(ends.get(name, now), now) + seconds
        return ends[name] - now

    return reserve_time


@dataclass(frozen=True)
class _Rate:
    """A rate per minute, with bursts of one second's share."""

    name: str
    per_minute: int

    def delay(self, reserve_time: ReserveTime, number: int) -> float:
        """Reserve time for `number` units, and return their delay. Seconds."""
        at_once = max(1.0, self.per_minute / (_MINUTE + 1))
        each = _MINUTE / max(self.per_minute - at_once, 1.0)
        # After a change of the limit, reservations at the old rate do not count.
        return reserve_time(f"{self.name} {self.per_minute}", number * each) - at_once * each
