"""Hard limits of spending."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NamedTuple, Protocol

from lightrag_dagster.errors import BudgetExceededError, StoreError

LEASE_SECONDS = 60.0
"""Time that other processes wait for the calls of a process without a sign of life."""

_RENEW_SECONDS = LEASE_SECONDS / 4
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5
_PERIOD = {"run": "", "day": " a day", "source": " a source", "month": " a source and month"}
_NEXT_STEP = {
    "run": "raise llm.max_cost_usd, or --max-cost where the command has it, and run again",
    "day": "raise llm.max_cost_per_day_usd, or run again after midnight UTC",
    "source": "raise llm.max_cost_per_source_usd and run again",
    "month": "raise llm.max_cost_per_source_month_usd, or run again next month, UTC",
}


class Limit(NamedTuple):
    """A limit of a `run`, a `day`, a `source` or a source in a `month`, and the amount spent or set aside. US dollars.

    `under_way` is set if calls are running whose money may become free.
    """

    of: str
    usd: float
    spent: float
    under_way: bool = False

    def exceeded(self, worst: float) -> BudgetExceededError:
        """Return the error of a call that may cost `worst`."""
        return BudgetExceededError(
            f"the budget of ${self.usd:.4g}{_PERIOD[self.of]} is used up: ${self.spent:.4g} was spent and the next "
            f"call may cost ${worst:.4g}; all that was answered is kept, {_NEXT_STEP[self.of]}"
        )


class Reservations(Protocol):
    """Money that is set aside for the calls of one model, under limits that all processes share."""

    def reserve(self, worst: float) -> Limit | None:
        """Set money aside for one call, or return the limit that it would exceed."""

    def renew(self) -> None:
        """Renew the lease of running calls."""

    def settle(self, worst: float, cost: float) -> None:
        """Replace the amount set aside for one call by its cost."""


class Reservation:
    """Money set aside for one call; the call notes its real `cost`. US dollars."""

    cost: float = 0.0


class Budget:
    """The limits on the calls of one model, in any event loop. US dollars.

    Before a call its worst case is set aside: its input at the uncached price, and its maximum output. A call that does
    not fit waits until the calls in flight, of all processes, have settled at their real cost, and is refused if it
    still does not fit. So a limit is never exceeded, and less of it is left than the worst case of one call.
    """

    def __init__(self, reservations: Reservations | None = None) -> None:
        """Set money aside in `reservations`; without them, nothing is limited."""
        self._reservations = reservations

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator[Reservation]:
        """Set `worst` US dollars aside for the block.

        Raises:
            BudgetExceededError: it does not fit into the rest.
            StoreError: the ledger cannot be asked.
        """
        reservation, reservations = Reservation(), self._reservations
        if reservations is None or not worst:
            yield reservation
            return
        wait = _SHORTEST_WAIT
        while exceeded := reservations.reserve(worst):
            if not exceeded.under_way:
                raise exceeded.exceeded(worst)
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        try:
            with _renewing(reservations):
                yield reservation
        finally:
            reservations.settle(worst, reservation.cost)


@contextmanager
def _renewing(reservations: Reservations) -> Iterator[None]:
    """Renew the lease during the block."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def renew() -> None:
        nonlocal timer
        with suppress(StoreError):  # at worst, another process stops waiting
            reservations.renew()
        timer = loop.call_later(_RENEW_SECONDS, renew)

    timer = loop.call_later(_RENEW_SECONDS, renew)
    try:
        yield
    finally:
        timer.cancel()
