"""Limits of one endpoint: requests in flight, and requests and tokens a minute."""

import asyncio
import time
from collections.abc import Callable

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
        self._name = name
        self._per_minute = {"requests": requests_per_minute, "tokens": tokens_per_minute}

    async def wait(self, tokens: int) -> None:
        """Wait until the limits per minute let a request of about `tokens` tokens go; first come, first served.

        Raises:
            StoreError: the reservations are in a database that cannot be used.
        """
        asked = {"requests": 1, "tokens": tokens}
        await asyncio.sleep(max(self._delay(unit, number) for unit, number in asked.items()))

    def _delay(self, unit: str, number: int) -> float:
        """Reserve time for a number of units, and return their delay. Seconds."""
        per_minute = self._per_minute[unit]
        if per_minute is None:
            return 0.0
        at_once = max(1.0, per_minute / (_MINUTE + 1))  # one second's share
        each = _MINUTE / max(per_minute - at_once, 1.0)
        # After a change of the limit, reservations at the old rate do not count.
        return self._reserve_time(f"{self._name} {unit} {per_minute}", number * each) - at_once * each


def local_reservations() -> ReserveTime:
    """Return a function that keeps reservations in memory."""
    ends: dict[str, float] = {}

    def reserve_time(name: str, seconds: float) -> float:
        now = time.monotonic()
        ends[name] = max(ends.get(name, now), now) + seconds
        return ends[name] - now

    return reserve_time
