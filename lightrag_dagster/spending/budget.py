"""Hard limits on what runs may spend."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from lightrag_dagster.errors import BudgetExceededError

_POLL_SECONDS = 0.05
_NEXT_STEP = {
    "": "raise --max-cost or llm.max_cost_usd and run again",
    " a day": "raise llm.max_cost_per_day_usd, or run again after midnight UTC",
    " a source": "raise llm.max_cost_per_source_usd and run again",
}


class Limit(NamedTuple):
    """A limit, as `period` says of a run (nothing), ` a day` or ` a source`, and what was spent of it. US dollars."""

    period: str
    usd: float
    spent: float

    def exceeded(self, worst: float) -> BudgetExceededError:
        """Return the error of a call that may cost `worst`."""
        return BudgetExceededError(
            f"the budget of ${self.usd:.4g}{self.period} is used up: ${self.spent:.4g} was spent and the next call may "
            f"cost ${worst:.4g}; all that was answered is kept, {_NEXT_STEP[self.period]}"
        )


class Reservations(Protocol):
    """Money that is set aside under limits which other runs share."""

    def reserve(self, worst: float) -> Limit | None:
        """Set money aside for one call, or return the limit that it would exceed."""

    def settle(self, worst: float, cost: float) -> None:
        """Replace what was set aside for one call by what it cost."""


class Reservation:
    """Money set aside for one call; the call notes its real `cost`. US dollars."""

    cost: float = 0.0


class Budget:
    """The limits that all calls of a run share, in any event loop. US dollars; None is no limit.

    Before a call its worst case is set aside: its input at the uncached price, and as much output as it may have. A
    call that does not fit waits until the calls in flight have settled at their real cost, and is refused if it still
    does not fit. So no limit is ever exceeded, and what it leaves is less than one worst case.
    """

    def __init__(self, limit: float | None, spent: float = 0.0, shared: Reservations | None = None) -> None:
        """Start with what the run has `spent`; `shared` holds the limits that all runs share."""
        self._limit = math.inf if limit is None else limit
        self._spent = spent
        self._shared = shared
        self._reserved: dict[Reservation, float] = {}
        self._lock = threading.Lock()

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator[Reservation]:
        """Set `worst` US dollars aside for the block.

        Raises:
            BudgetExceededError: it does not fit into what is left.
            StoreError: the ledger cannot be asked.
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
                if self._shared and worst:
                    self._shared.settle(worst, reservation.cost)

    def _fits(self, reservation: Reservation, worst: float) -> bool:
        with self._lock:
            exceeded: Limit | None = None
            if self._spent + sum(self._reserved.values()) + worst > self._limit:
                exceeded = Limit("", self._limit, self._spent)
            elif self._shared and worst:
                exceeded = self._shared.reserve(worst)
            if exceeded is None:
                self._reserved[reservation] = worst
                return True
            if self._reserved:
                return False
        raise exceeded.exceeded(worst)
