"""Calls, tokens and cost of every step of every run, and the money that is set aside for calls under way.

Budgets read from it what was spent so far, and plans how earlier calls went.
"""

import math
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from sqlalchemy import Connection, Double, cast, delete, func, insert, select

from lightrag_dagster.spending.account import Account, Entry
from lightrag_dagster.spending.budget import Limit
from lightrag_dagster.spending.tables import KEPT, LEDGER, RECEIPTS, RESERVED, SETTLE, SPENT, TIMETABLES, total
from lightrag_dagster.storage.database import Database
from lightrag_dagster.storage.home import Address

_RESERVING = 0x11688
"""Advisory lock of Postgres that is held while a limit is compared with what was spent."""

_ROUNDING = 1e-9
_COUNTED = {"preserve_rowcount": True}


class Ledger:
    """Entries in the order in which they were added; safe from several processes. Every method raises StoreError."""

    def __init__(self, address: Address) -> None:
        """Name the database; it is opened, and a missing SQLite file created, by the first method that needs it."""
        self._address = address
        self._opened: Database | None = None

    def add(self, entry: Entry, receipt: str | None = None, reserved: str = "") -> None:
        """Append an entry, unless it counts no call or the same receipt was entered before.

        Args:
            entry: A step's calls.
            receipt: Name of what is entered; a second entry with it is left out.
            reserved: Account or batch whose money that was set aside is reduced by the entry's cost. Nothing stays of
                that of a batch, whose name is its receipt.
        """
        if not (entry.calls or entry.stored or reserved):
            return
        with self._begin() as (database, connection):
            new = True
            if receipt is not None:
                statement = database.insert(RECEIPTS).on_conflict_do_nothing()
                new = bool(connection.execute(statement, {"receipt": receipt}, execution_options=_COUNTED).rowcount)
            if new and (entry.calls or entry.stored):
                connection.execute(insert(LEDGER), asdict(entry) | {"day": _today()})
            if reserved:
                _forget(connection, reserved, entry.cost_usd if receipt is None else math.inf)

    def spent(self, run: str) -> float:
        """Return what a run has cost so far. US dollars."""
        with self._reading() as connection:
            statement = select(total(LEDGER.c.cost_usd, LEDGER.c.run == run))
            return float(connection.execute(statement).scalar_one()) if connection else 0.0

    def limits(self, account: Account) -> list[Limit]:
        """Return the limits of an account that all runs share, with what was spent or set aside of each."""
        with self._reading() as connection:
            return _limits(connection, account, account.source)

    def by_purpose(self) -> dict[str, Entry]:
        """Return the totals of each purpose, over all runs and sources."""
        counted = [LEDGER.c[field.name] for field in fields(Entry)[4:]]
        # Postgres gives the sum of integers another type.
        totals = [cast(func.sum(column), column.type).label(column.name) for column in counted]
        columns = (LEDGER.c.purpose, func.max(LEDGER.c.model).label("model"), *totals)
        statement = select(*columns).group_by(LEDGER.c.purpose).order_by(LEDGER.c.purpose)
        with self._reading() as connection:
            rows = connection.execute(statement).all() if connection else []
        return {row.purpose: Entry(run="", source="", **row._asdict()) for row in rows}

    def last_run(self) -> str | None:
        """Return the run of the newest entry."""
        statement = select(LEDGER.c.run).order_by(LEDGER.c.number.desc()).limit(1)
        with self._reading() as connection:
            return connection.execute(statement).scalar() if connection else None

    def reserve(self, name: str, source: str, usd: float, account: Account | None = None) -> Limit | None:
        """Set money aside, or return the limit of the account that it would exceed.

        Args:
            name: Account or batch that it is added to.
            source: Source that is billed.
            usd: US dollars.
            account: Whose limits hold, if any.
        """
        with self._begin() as (database, connection):
            if database.on_postgres:
                connection.execute(select(func.pg_advisory_xact_lock(_RESERVING)))
            statement = database.insert(RESERVED)
            changed = {"usd": RESERVED.c.usd + statement.excluded.usd, "day": statement.excluded.day}
            # The write comes first, so that SQLite lets no other process write until the limits are compared.
            connection.execute(
                statement.on_conflict_do_update(index_elements=["name"], set_=changed),
                {"name": name, "day": _today(), "source": source, "usd": usd},
            )
            for limit in _limits(connection, account, source) if account else ():
                if limit.spent > limit.usd + _ROUNDING:
                    connection.rollback()
                    return limit._replace(spent=limit.spent - usd)
        return None

    def settle(self, name: str, usd: float) -> None:
        """Set so much less money aside for an account."""
        with self._begin() as (_, connection):
            connection.execute(SETTLE, {"one": name, "less": usd})

    def release(self, name: str) -> None:
        """Set no money aside any more for an account or batch."""
        with self._begin() as (_, connection):
            _forget(connection, name, math.inf)

    def claim(self, name: str, seconds: float) -> float:
        """Take up so many seconds of a timetable after what is taken already; return when they end. Seconds from now.

        All processes that share the ledger share its timetables; a killed one leaves nothing to tidy up.
        """
        with self._begin() as (database, connection):
            # Hosts that share a Postgres may disagree about the time.
            now = cast(func.extract("epoch", func.clock_timestamp()), Double) if database.on_postgres else time.time()
            later = func.greatest if database.on_postgres else func.max
            statement = database.insert(TIMETABLES).values(name=name, taken_until=now + seconds)
            until = later(TIMETABLES.c.taken_until, now, type_=Double) + seconds
            statement = statement.on_conflict_do_update(index_elements=["name"], set_={"taken_until": until})
            return float(connection.execute(statement.returning(TIMETABLES.c.taken_until - now)).scalar_one())

    def reservations(self, account: Account) -> "AccountReservations":
        """Return what a budget asks before and after each call of an account."""
        return AccountReservations(self, account)

    @contextmanager
    def _begin(self) -> Iterator[tuple[Database, Connection]]:
        if self._opened is None:
            self._opened = open_ledger(self._address)
            weakref.finalize(self, self._opened.close)
        with self._opened.begin() as connection:
            yield self._opened, connection

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        """Give a connection, or None where nothing was ever entered, so that reading creates no file."""
        if isinstance(self._address, Path) and not self._address.exists():
            yield None
            return
        with self._begin() as (_, connection):
            yield connection


def open_ledger(address: Address) -> Database:
    """Open the database of the ledger; raises StoreError."""
    return Database(address, [*KEPT, TIMETABLES], added={"day": 0})


class AccountReservations:
    """Money that an account sets aside in the ledger, within the limits of a day and of its source.

    What a killed process had set aside stays: it is the most that its last calls, which have no entry, can have cost.
    """

    def __init__(self, ledger: Ledger, account: Account) -> None:
        self._ledger = ledger
        self._account = account

    def reserve(self, worst: float) -> Limit | None:
        """Set money aside for one call, or return the limit that it would exceed."""
        return self._ledger.reserve(self._account.reserved, self._account.source, worst, self._account)

    def settle(self, worst: float, cost: float) -> None:
        """Replace what was set aside for one call by what it cost."""
        self._ledger.settle(self._account.reserved, worst - cost)


def _limits(connection: Connection | None, account: Account, source: str) -> list[Limit]:
    day, ever = account.max_cost_per_day_usd, account.max_cost_per_source_usd
    found = {} if day is None else {" a day": day}
    if ever is not None and source:
        found[" a source"] = ever
    if connection is None or not found:
        return [Limit(period, usd, 0.0) for period, usd in found.items()]
    spent = connection.execute(SPENT, {"this_day": _today(), "this_source": source}).one()._mapping
    return [Limit(period, usd, float(spent[period])) for period, usd in found.items()]


def _forget(connection: Connection, name: str, usd: float) -> None:
    """Set less money aside, and remove what is nothing but rounding."""
    connection.execute(delete(RESERVED).where(RESERVED.c.name == name, RESERVED.c.usd <= usd + _ROUNDING))
    connection.execute(SETTLE, {"one": name, "less": usd})


def _today() -> int:
    """Return the day, UTC. Days since 1970."""
    return int(time.time() // 86_400)
