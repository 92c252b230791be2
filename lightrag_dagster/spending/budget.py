"""A hard limit on what a run may spend."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from lightrag_dagster.errors import BudgetExceededError


class Budget:
    """What may still be spent, shared by all calls in flight, whatever event loops they are in.

    Before a call its worst case is set aside: its input at the uncached price, and as much output as it may have. When
    that does not fit, the call waits until those in flight beside it have been settled, at what they really cost, and
    is refused if it still does not fit. So the limit is never exceeded, and what it leaves is less than one worst case.
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        """Limit what is spent, `spent` included, to `limit`; US dollars, None is no limit."""
        self._limit = limit
        self._spent = spent
        self._reserved = 0.0
        self._open = 0
        self._sums = threading.Lock()
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator["Reservation"]:
        """Set `worst` US dollars aside for the block, which says what the call really cost.

        Raises:
            BudgetExceededError: it does not fit into what is left.
        """
        if self._limit is None:
            yield Reservation()
            return
        here = self._loops.setdefault(asyncio.get_running_loop(), _Waiting())
        async with here.settled:
            while not self._take(worst, self._limit):
                if not here.in_flight:
                    raise BudgetExceededError(
                        f"the budget of ${self._limit:.4g} is used up: ${self._spent:.4g} was spent and the next call "
                        f"may cost ${worst:.4g}; all that was answered is kept, raise --max-cost or llm.max_cost_usd "
                        "and run again"
                    )
                await here.settled.wait()
            here.in_flight += 1
        reservation = Reservation()
        try:
            yield reservation
        finally:
            async with here.settled:
                here.in_flight -= 1
                self._settle(worst, reservation.cost)
                here.settled.notify_all()

    def _take(self, worst: float, limit: float) -> bool:
        with self._sums:
            if self._spent + self._reserved + worst > limit:
                return False
            self._reserved += worst
            self._open += 1
            return True

    def _settle(self, worst: float, cost: float) -> None:
        with self._sums:
            self._open -= 1
            self._reserved = self._reserved - worst if self._open else 0.0
            self._spent += cost


class _Waiting:
    """The calls of one event loop."""

    def __init__(self) -> None:
        self.settled = asyncio.Condition()
        self.in_flight = 0


class Reservation:
    """What a call that was let through cost in the end. US dollars."""

    cost: float = 0.0
