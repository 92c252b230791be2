"""A hard limit on what a run may spend."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.errors import BudgetExceededError


class Budget:
    """What may still be spent, shared by all calls in flight. For one event loop.

    Before a call its worst case is set aside: its input at the uncached price, and as much output as it may have. When
    that does not fit, the call waits until those in flight have been settled, at what they really cost, and is refused
    if it still does not fit. So the limit is never exceeded, and what it leaves is less than one worst case.
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        """Limit what is spent, `spent` included, to `limit`; US dollars, None is no limit."""
        self._limit = limit
        self._spent = spent
        self._reserved = 0.0
        self._in_flight = 0
        self._settled = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator["Reservation"]:
        """Set `worst` US dollars aside for the block, which says what the call really cost.

        Raises:
            BudgetExceededError: it does not fit into what is left.
        """
        if self._limit is None:
            yield Reservation()
            return
        limit = self._limit
        async with self._settled:
            await self._settled.wait_for(lambda: not self._in_flight or self._spent + self._reserved + worst <= limit)
            if self._spent + self._reserved + worst > limit:
                raise BudgetExceededError(
                    f"the budget of ${limit:.4g} is used up: ${self._spent:.4g} was spent and the next call may cost "
                    f"${worst:.4g}; all that was answered is kept, raise --max-cost or llm.max_cost_usd and run again"
                )
            self._reserved += worst
            self._in_flight += 1
        reservation = Reservation()
        try:
            yield reservation
        finally:
            async with self._settled:
                self._in_flight -= 1
                self._reserved = self._reserved - worst if self._in_flight else 0.0
                self._spent += reservation.cost
                self._settled.notify_all()


class Reservation:
    """What a call that was let through cost in the end. US dollars."""

    cost: float = 0.0
