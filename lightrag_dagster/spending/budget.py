"""Hard limits of spending."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from lightrag_dagster.errors import StoreError
from lightrag_dagster.spending.account import Account

if TYPE_CHECKING:  # SQLAlchemy takes longer to import than a question may.
    from lightrag_dagster.spending.ledger import Ledger

LEASE_SECONDS = 60.0
"""Time that other processes wait for the calls of a process without a sign of life."""

_RENEW_SECONDS = LEASE_SECONDS / 4
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5


class Reservation:
    """Money set aside for one call, which notes the real `cost` of its last attempt. US dollars."""

    def __init__(self, lose: Callable[[float], None] = lambda cost: None) -> None:
        self.cost = 0.0
        self.lose = lose
        """Pays for an attempt without an answer, and sets the worst case of another aside, or raises as `reserve`."""


class Budget:
    """The money for the calls of one model, and its limits, in any event loop. US dollars.

    Before a call its worst case is set aside: its input at the uncached price, and its maximum output. A call that does
    not fit waits until the calls in flight, of all processes, have settled at their real cost, and is refused if it
    still does not fit. So a limit is never exceeded, and less of it is left than the worst case of one call.

    The money that a killed process has set aside stays: it is the most that its last calls, which have no entry, can
    have cost.
    """

    name = ""
    """Name of what was set aside, from the first call on."""

    def __init__(self, billed: "tuple[Ledger, Account] | None" = None) -> None:
        """Set money aside in a ledger, within the limits that an account has; without them, nothing is counted."""
        self._billed = billed

    @asynccontextmanager
    async def reserve(self, worst: float) -> AsyncIterator[Reservation]:
        """Set `worst` US dollars aside for the block.

        Raises:
            BudgetExceededError: it does not fit into the rest.
            StoreError: the ledger cannot be asked.
        """
        if self._billed is None or not worst:
            yield Reservation()
            return
        self.name = self.name or uuid4().hex
        (ledger, account), wait = self._billed, _SHORTEST_WAIT
        while exceeded := ledger.reserve(self.name, account, worst, LEASE_SECONDS):
            if not exceeded.under_way:
                raise exceeded.exceeded(worst)
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        is_open = True

        def lose(cost: float) -> None:
            nonlocal is_open
            ledger.settle(self.name, worst - cost)
            exceeded = ledger.reserve(self.name, account, worst, LEASE_SECONDS)
            is_open = exceeded is None
            if exceeded:
                raise exceeded.exceeded(worst)

        reservation = Reservation(lose)
        try:
            with _renewing(ledger, self.name):
                yield reservation
        finally:
            if is_open:
                ledger.settle(self.name, worst - reservation.cost)


@contextmanager
def _renewing(ledger: "Ledger", name: str) -> Iterator[None]:
    """Renew the lease of an opened model during the block."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def renew() -> None:
        nonlocal timer
        with suppress(StoreError):  # at worst, another process stops waiting
            ledger.renew(name, LEASE_SECONDS)
        timer = loop.call_later(_RENEW_SECONDS, renew)

    timer = loop.call_later(_RENEW_SECONDS, renew)
    try:
        yield
    finally:
        timer.cancel()
