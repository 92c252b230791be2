"""A hard limit on what a run may spend."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lightrag_dagster.errors import BudgetExceededError

_POLL_SECONDS = 0.05


@dataclass(eq=False)
class Reservation:
    """The money set aside for one call, and what the call really cost. US dollars."""

    worst: float
    cost: float = 0.0


class Budget:
    """The limit that all calls of a run share, in whatever event loops they are.

    Before a call its worst case is set aside: its input at the uncached price, and as much output as it may have. A
    call that does not fit waits until the calls in flight have settled at their real cost, and is refused if it still
    does not fit. So the limit is never exceeded, and what it leaves is less than one worst case.
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        """Limit what is spent, `spent` included, to `limit`; US dollars, None is no limit."""
        self._limit = math.inf if limit is None else limit
        self._spent = spent
        self._reserved: set[Reservation] = set()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator[Reservation]:
        """Set `worst` US dollars aside for the block, which notes the real cost of the call.

        Raises:
            BudgetExceededError: it does not fit into what is left.
        """
        reservation = Reservation(worst)
        while not self._fits(reservation):
            await asyncio.sleep(_POLL_SECONDS)
        try:
            yield reservation
        finally:
            with self._lock:
                self._reserved.remove(reservation)
                self._spent += reservation.cost

    def _fits(self, new: Reservation) -> bool:
        """Set the reservation aside if it fits; raise if it does not and no call in flight may change that."""
        with self._lock:
            if self._spent + sum(one.worst for one in self._reserved) + new.worst <= self._limit:
                self._reserved.add(new)
                return True
            if self._reserved:
                return False
        raise BudgetExceededError(
            f"the budget of ${self._limit:.4g} is used up: ${self._spent:.4g} was spent and the next call may cost "
            f"${new.worst:.4g}; all that was answered is kept, raise --max-cost or llm.max_cost_usd and run again"
        )
