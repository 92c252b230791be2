"""A hard limit on what a run may spend."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.errors import BudgetExceededError

_POLL_SECONDS = 0.05


class Reservation:
    """Money set aside for one call; the call notes its real `cost`. US dollars."""

    cost: float = 0.0


class Budget:
    """The limit that all calls of a run share, in any event loop. US dollars; None is no limit.

    Before a call its worst case is set aside: its input at the uncached price, and as much output as it may have. A
    call that does not fit waits until the calls in flight have settled at their real cost, and is refused if it still
    does not fit. So the limit is never exceeded, and what it leaves is less than one worst case.
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self._limit = math.inf if limit is None else limit
        self._spent = spent
        self._reserved: dict[Reservation, float] = {}
        self._lock = threading.Lock()

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator[Reservation]:
        """Set `worst` US dollars aside for the block.

        Raises:
            BudgetExceededError: it does not fit into what is left.
        """
        reservation = Reservation()
        while not self._fits(reservation, worst):
            await asyncio.sleep(_POLL_SECONDS)
        try:
            yield reservation
        finally:
            with self._lock:
                del self._reserved[reservation]
                self._spent += reservation.cost

    def _fits(self, reservation: Reservation, worst: float) -> bool:
        with self._lock:
            if self._spent + sum(self._reserved.values()) + worst <= self._limit:
                self._reserved[reservation] = worst
                return True
            if self._reserved:
                return False
        raise BudgetExceededError(
            f"the budget of ${self._limit:.4g} is used up: ${self._spent:.4g} was spent and the next call may cost "
            f"${worst:.4g}; all that was answered is kept, raise --max-cost or llm.max_cost_usd and run again"
        )
