"""Calls, tokens and cost of every step of every run, and the money that is set aside for running calls.

Budgets read the money spent so far from it, and plans the sizes of earlier calls.
"""

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from lightrag_dagster.spending.account import COUNTED, Account, Entry, Limit, today
from lightrag_dagster.spending.tables import (
    ALL,
    BATCH,
    KEPT,
    LEDGER,
    RATE_LIMITS,
    RECEIPTS,
    RESERVED,
    SET_ASIDE,
    SETTLE,
    now,
    set_aside,
    spent_of,
    under_way,
)
from lightrag_dagster.storage.database.address import Address, is_there
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.home import Home

if TYPE_CHECKING:
    import pyarrow as pa

_RESERVING = 0x11688
"""Advisory lock of Postgres that is held while a limit is compared with the money spent."""

_ROUNDING = 1e-9
_AT_ONCE = 10_000  # entries
_EPOCH = date(1970, 1, 1)
_COUNTED = {"preserve_rowcount": True}
_LONGEST_QUEUE = 86_400.0  # of calls for a rate limit; seconds


class Ledger:
    """Entries in the order in which they were added; safe from several processes. Every method raises StoreError."""

    def __init__(self, address: Address) -> None:
        """Name the database; it is opened, and a missing SQLite file created, by the first method that needs it."""
        self._address = address
        self._opened: Database | None = None
        self._opening = threading.Lock()

    def add(self, entry: Entry, receipt: str | None = None, reserved: str = "") -> None:
        """Append an entry, unless it counts nothing or the same receipt was entered before.

        Its day is that on which money was set aside for the calls: long before, where a service keeps a model open.

        Args:
            entry: A step's calls.
            receipt: Unique name of the entry; a second entry with it is left out.
            reserved: Name of what was set aside for these calls, which are all; that ends.
        """
        counts = any(getattr(entry, name) for name in COUNTED)
        if not (counts or reserved):
            return
        with self._begin() as (database, connection):
            new = True
            if receipt is not None:
                statement = database.insert(RECEIPTS).on_conflict_do_nothing()
                new = bool(connection.execute(statement, {"receipt": receipt}, execution_options=_COUNTED).rowcount)
            if new and counts:
                of_calls = sa.select(RESERVED.c.day).where(RESERVED.c.name == reserved)
                day = sa.func.coalesce(of_calls.scalar_subquery(), today())
                connection.execute(sa.insert(LEDGER).values(asdict(entry) | {"day": day}))
            if reserved:
                connection.execute(sa.delete(RESERVED).where(RESERVED.c.name == reserved))

    def spent(self, run: str, source: str | None = None) -> float:
        """Return the cost of a run so far, with what is set aside; of one source if given. US dollars."""
        with self._reading() as connection:
            statement = sa.select(sa.func.coalesce(sa.func.sum(ALL.c.cost_usd), 0.0)).where(ALL.c.run == run)
            if source is not None:
                statement = statement.where(ALL.c.source == source)
            return float(connection.execute(statement).scalar_one())

    def limits(self, account: Account) -> list[Limit]:
        """Return the limits of an account, with the amount spent or set aside of each."""
        with self._reading() as connection:
            return _limits(connection, account, _bounded(account))

    def by_purpose(self) -> dict[str, Entry]:
        """Return the totals of each purpose, over all runs, sources and models."""
        return {row["purpose"]: Entry(run="", source="", model="", **row) for row in self.costs(["purpose"])}

    def costs(self, by: Sequence[str]) -> list[dict[str, Any]]:
        """Return the totals of all entries for each combination of some of month, source, purpose and model.

        Calls without an entry count under the purpose `set aside`. A row has these; `calls`, `stored` answers,
        `input_tokens`, of these `cached_input_tokens` and `cache_write_tokens`, `output_tokens`; and `cost_usd` in US
        dollars. A `month` is text such as 2026-11, UTC.
        """
        counted = [ALL.c[name] for name in COUNTED]
        # Postgres gives the sum of integers another type.
        totals = [sa.cast(sa.func.sum(column), column.type).label(column.name) for column in counted]
        with self._reading() as connection:
            keys = [_month(connection) if name == "month" else ALL.c[name] for name in by]
            found = connection.execute(sa.select(*keys, *totals).group_by(*keys).order_by(*keys))
            return [dict(row._mapping) for row in found]

    def entries(self) -> "pa.Table":
        """Return all entries as rows of ENTRIES, in the order in which they were added."""
        import pyarrow as pa

        from lightrag_dagster.spending.entries import ENTRIES

        columns = (ALL.c.day, *(ALL.c[name] for name in ENTRIES.names[1:]))
        batches: list[pa.RecordBatch] = []
        with self._reading() as connection:
            ordered = sa.select(*columns).order_by(ALL.c.number)
            for rows in connection.execution_options(yield_per=_AT_ONCE).execute(ordered).partitions():
                days, *values = zip(*rows, strict=True)
                dates = pa.array(days, pa.int32()).cast(pa.date32())
                arrays = map(pa.array, values, ENTRIES.types[1:])
                batches.append(pa.RecordBatch.from_arrays([dates, *arrays], schema=ENTRIES))
        return pa.Table.from_batches(batches, ENTRIES)

    def reserve(
        self, name: str, account: Account, usd: float, lease: float = 0.0, day: int | None = None
    ) -> Limit | None:
        """Set money aside, or return the limit of the account that it would exceed.

        Args:
            name: Name of the money that it is added to: that of an opened model and day, or of a batch.
            account: The account that is billed, with its limits.
            usd: US dollars.
            lease: Time that others wait for the end of the call, unless it is renewed; 0 for a batch. Seconds.
            day: The day for which it counts, UTC; today unless given. Days since 1970.
        """
        bounded = _bounded(account, day)
        row = {"name": name, "usd": usd, "calls": int(lease > 0), "lease": lease or BATCH}
        with self._begin() as (database, connection):
            if database.on_postgres and account.limits:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_RESERVING)))
            # The write comes first, so that SQLite lets no other process write until the limits are compared.
            connection.execute(self._set_aside, row | {of: bounded[of] for of in ("run", "source", "day")})
            for limit in _limits(connection, account, bounded):
                if limit.spent > limit.usd + _ROUNDING:
                    others = connection.execute(under_way(database, limit.of), bounded).scalar_one() > 1
                    connection.rollback()
                    return limit._replace(spent=limit.spent - usd, under_way=others)
        return None

    def renew(self, name: str, lease: float) -> None:
        """Renew the lease of the running calls for which money is set aside under a name, in seconds."""
        with self._begin() as (database, connection):
            alive = {"alive_until": now(database) + lease}
            connection.execute(sa.update(RESERVED).where(RESERVED.c.name == name).values(alive))

    def settle(self, name: str, usd: float, ended: int = 1) -> None:
        """Reduce the money set aside under a name by that of an ended call, or of none."""
        with self._begin() as (_, connection):
            connection.execute(SETTLE, {"one": name, "less": usd, "ended": ended})

    def release_other_batches(self, names: Set[str]) -> None:
        """Remove the money set aside for batches with other names than these."""
        with self._begin() as (_, connection):
            connection.execute(sa.delete(RESERVED).where((RESERVED.c.alive_until < 0) & RESERVED.c.name.not_in(names)))

    def reserve_time(self, name: str, seconds: float) -> float:
        """Reserve seconds in a named rate limit, after all reservations; return the delay until their end. Seconds.

        All processes that share the ledger share its rate limits; a killed one leaves nothing to clean up. Reservations
        more than a day ahead are those of a clock that was fast, and do not count.
        """
        with self._begin() as (database, connection):
            time_now = now(database)
            later = sa.func.greatest if database.on_postgres else sa.func.max
            statement = database.insert(RATE_LIMITS).values(name=name, taken_until=time_now + seconds)
            taken, longest = RATE_LIMITS.c.taken_until, time_now + _LONGEST_QUEUE
            until = later(sa.case((taken > longest, time_now), else_=taken), time_now, type_=sa.Double) + seconds
            statement = statement.on_conflict_do_update(index_elements=["name"], set_={"taken_until": until})
            return float(connection.execute(statement.returning(RATE_LIMITS.c.taken_until - time_now)).scalar_one())

    @contextmanager
    def _begin(self) -> Iterator[tuple[Database, sa.Connection]]:
        with self._opening:
            if self._opened is None:
                opened = open_ledger(self._address)
                weakref.finalize(self, opened.close)
                # Made once, since making a statement takes longer than running it.
                self._set_aside = set_aside(opened)
                self._opened = opened
        with self._opened.begin() as connection:
            yield self._opened, connection

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        """Yield a connection, which creates no file: if nothing was ever entered, there are no entries."""
        if is_there(self._address):
            with self._begin() as (_, connection):
                yield connection
        else:
            with Database(self._address, KEPT, looking=True) as empty, empty.begin() as connection:
                yield connection


_ANOTHER_DATABASE = "set LIGHTRAG_DATABASE to that of this home, or all is paid for again and budgets count from zero"


def lost_stores(home: Home, opened: Address | None = None) -> list[str]:
    """Return a line for each store whose file is missing, though the ledger has calls whose answers it kept.

    It is one line for a Postgres database in which no run of the home has written. A model is opened with its store,
    which makes the file or table. With the file of a store that is to be `opened` and is there, no other is missed: the
    ledger, which takes a second in a large home, is not summed. Raises StoreError.
    """
    if home.database and home.published.exists():
        database = Database(home.database, [])
        if {"looks", "responses"}.isdisjoint(database.tables()):  # which nothing makes that only looks
            return [f"{database.name} holds nothing of {home.name}, which has published; {_ANOTHER_DATABASE}"]
    if isinstance(opened, Path) and opened.exists():
        return []
    gone = [one for one in ((home.responses, "answers"), (home.vectors, "vectors")) if not is_there(one[0])]
    purposes = Ledger(home.ledger).by_purpose().keys() - {SET_ASIDE} if gone else set()
    used = {"answers": purposes - {"embed"}, "vectors": purposes & {"embed"}}
    return [
        f"{address} is missing, which kept the {kept} of models; put it back from a backup, or they are paid for again"
        for address, kept in gone
        if used[kept]
    ]


def open_ledger(address: Address) -> Database:
    """Open the database of the ledger; raises StoreError."""
    return Database(address, [*KEPT, RATE_LIMITS])


def _limits(connection: sa.Connection, account: Account, bounded: Mapping[str, object]) -> list[Limit]:
    """Return the limits of an account, that of the run first."""
    limits = account.limits
    if not limits:
        return []
    spent = connection.execute(spent_of(tuple(limits)), bounded).one()
    return [Limit(of, usd, float(spent._mapping[of])) for of, usd in limits.items()]


def _bounded(account: Account, day: int | None = None) -> dict[str, object]:
    """Return the values of an account by which limits choose rows; `month` is the first day of that of the day."""
    day = today() if day is None else day
    month = day + 1 - (_EPOCH + timedelta(days=day)).day
    return {"run": account.run, "source": account.source, "day": day, "month": month}


def _month(connection: sa.Connection) -> sa.Label[str]:
    seconds = ALL.c.day * 86_400
    if connection.dialect.name == "postgresql":
        month: sa.ColumnElement[str] = sa.func.to_char(
            sa.func.timezone("UTC", sa.func.to_timestamp(seconds)), "YYYY-MM"
        )
    else:
        month = sa.func.strftime("%Y-%m", seconds, "unixepoch")
    return month.label("month")
