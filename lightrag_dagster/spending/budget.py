"""Hard limits of spending."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.tracing import marking
from lightrag_dagster.errors import StoreError
from lightrag_dagster.spending.account import Account, today

if TYPE_CHECKING:  # SQLAlchemy takes longer to import than a question may.
    from lightrag_dagster.spending.ledger import Ledger

LEASE_SECONDS = 60.0
"""Time that other processes wait for the calls of a process without a sign of life."""

_RENEW_SECONDS = LEASE_SECONDS / 4
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5


class Reservation:
    """Money set aside for the attempts of one call, one after another; the last notes its real `cost`. US dollars.

    Only `renew` sets it aside, when an attempt can begin: a call that waits for its turn keeps no money from others.
    It counts for the day (UTC) of that, and its `name` is that of the money of this day.
    """

    cost: float = 0.0
    name: str = ""

    def __init__(self, budget: "Budget", worst: float = 0.0) -> None:
        self._budget, self._worst, self._is_open = budget, worst, False

    async def renew(self) -> None:
        """Set the worst case of the next attempt aside, unless it is.

        Raises:
            BudgetExceededError: it does not fit into the rest.
            StoreError: the ledger cannot be asked.
        """
        if self._budget.billed is None or self._is_open:
            return
        (ledger, account), wait = self._budget.billed, _SHORTEST_WAIT
        self.name = self._budget.name(day := today())
        while exceeded := ledger.reserve(self.name, account, self._worst, LEASE_SECONDS, day):
            if not exceeded.under_way:
                raise exceeded.exceeded(self._worst)
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
            self.name = self._budget.name(day := today())
        self._is_open = True

    def settle(self, cost: float) -> None:
        """Keep the cost of an attempt that has ended, of what was set aside for it; all of it if nothing was."""
        if self._budget.billed is not None and (self._is_open or cost):
            ended, self._is_open = int(self._is_open), False
            self._budget.count(self.name)
            self._budget.billed[0].settle(self.name, self._worst * ended - cost, ended)


class Budget:
    """The money for the calls of one model, and its limits, in any event loop. US dollars.

    Before an attempt its worst case is set aside: its input at the uncached price, and its maximum output. One that
    does not fit waits until those in flight, of all processes, have settled at their real cost, and is refused if it
    still does not fit. So a limit is never exceeded, and less of it is left than the worst case of one call.

    The money that a killed process has set aside stays: it is the most that its last calls, which have no entry, can
    have cost.
    """

    def __init__(self, billed: "tuple[Ledger, Account] | None" = None, usage: Usage | None = None) -> None:
        """Set money aside in a ledger, within the limits that an account has; without them, nothing is counted.

        `usage` counts the model's calls.
        """
        self.billed = billed
        self._id = uuid4().hex
        self._usage, self._counted = usage or Usage(), Usage()
        self._used: dict[str, Usage] = {}

    def name(self, day: int) -> str:
        """Return the name of the money that is set aside for calls on a day; days since 1970."""
        return f"{self._id} {day}"

    def count(self, name: str) -> None:
        """Count what was used since the last time as used by the calls for which money was set aside by that name."""
        self._used[name] = self._used.get(name, Usage()) + (self._usage - self._counted)
        self._counted = replace(self._usage)

    def used(self) -> Mapping[str, Usage]:
        """Return what was used, by the name of the money that was set aside for it, and so by day."""
        self.count(next(reversed(self._used), ""))
        return self._used

    @contextmanager
    def reservation(self, worst: float) -> Iterator[Reservation]:
        """Give the call of the block a reservation, each of whose attempts may cost `worst` US dollars."""
        if self.billed is None:
            yield Reservation(Budget())
            return
        ledger, account = self.billed
        reservation = Reservation(self if worst else Budget(), worst)
        with marking(account.attributes), _renewing(ledger, reservation) if worst else nullcontext():
            try:
                yield reservation
            finally:
                reservation.settle(reservation.cost)


@contextmanager
def _renewing(ledger: "Ledger", reservation: Reservation) -> Iterator[None]:
    """Renew the lease of what is set aside during the block."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def renew() -> None:
        nonlocal timer
        with suppress(StoreError):  # at worst, another process stops waiting
            ledger.renew(reservation.name, LEASE_SECONDS)
        timer = loop.call_later(_RENEW_SECONDS, renew)

    timer = loop.call_later(_RENEW_SECONDS, renew)
    try:
        yield
    finally:
        timer.cancel()
