"""Tables of the ledger, and the statements that are run before and after each call."""

from functools import cache
from typing import Any

import sqlalchemy as sa

from lightrag_dagster.storage.database.engine import Database

_UNIX_EPOCH = 2_440_587.5
"""Days since noon on 24 November 4714 BC, with which SQLite counts."""

_METADATA = sa.MetaData()
LEDGER = sa.Table(
    "ledger",
    _METADATA,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("run", "purpose", "source", "model")),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("calls", "stored")),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost_usd", sa.Double, nullable=False),
    sa.Column("day", sa.BigInteger, nullable=False),
    sa.Column("cache_write_tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ledger_run", "run"),
    sa.Index("ledger_source", "source"),
    sa.Index("ledger_day", "day"),
)
"""Entries. `day` is that on which the money was set aside, in days since 1970, UTC."""

RECEIPTS = sa.Table("receipts", _METADATA, sa.Column("receipt", sa.Text, primary_key=True))
"""Receipts of entries that must not be made twice."""

RESERVED = sa.Table(
    "reserved",
    _METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("day", sa.BigInteger, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("usd", sa.Double, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("under_way", sa.BigInteger, nullable=False),
    sa.Column("alive_until", sa.Double, nullable=False),
)
"""Money set aside, by opened model and day, or batch: the worst cost of running calls, and that of ended ones.

`under_way` counts the running calls; others wait for their end until `alive_until`, in seconds since 1970.
"""

SET_ASIDE = "set aside"
"""The purpose of calls without an entry."""

BATCH = -1e12
"""Lease of what is set aside for a batch, which has no process that others wait for. Seconds."""

_WITHOUT_ENTRY: dict[str, sa.ColumnElement[Any]] = {
    "number": sa.literal(2**62),
    "purpose": sa.literal(SET_ASIDE),
    "model": sa.literal(""),
    "cost_usd": RESERVED.c.usd,
    **{name: RESERVED.c[name] for name in ("run", "source", "day")},
}
ALL = sa.union_all(
    sa.select(LEDGER),
    sa.select(*(_WITHOUT_ENTRY.get(one.name, sa.literal(0)).label(one.name) for one in LEDGER.c)).where(
        RESERVED.c.usd > 0, RESERVED.c.alive_until > 0
    ),
).subquery()
"""The entries, and behind them those of calls without one yet: at their cost, or at their worst while they run.

A killed process leaves them. Batches have none before their answers are there.
"""

RATE_LIMITS = sa.Table(
    "timetables",
    _METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("taken_until", sa.Double, nullable=False),
)
"""Rate limits per minute: the time until which each is taken up by earlier requests. Seconds since 1970."""


KEPT = (RESERVED, RECEIPTS, LEDGER)
"""Tables that a backup keeps, in an order that never misses the cost of a call that is entered meanwhile."""


@cache
def spent_of(limited: tuple[str, ...]) -> sa.Select[Any]:
    """Return the statement that sums the money spent or set aside, for one `run`, `day`, `source` or `month` each."""
    totals: list[Any] = [(_total("cost_usd", LEDGER, of) + _total("usd", RESERVED, of)).label(of) for of in limited]
    return sa.select(*totals)


def _total(amount: str, table: sa.Table, of: str) -> sa.ScalarSelect[float]:
    return sa.select(sa.func.coalesce(sa.func.sum(table.c[amount]), 0.0)).where(_billed_to(table, of)).scalar_subquery()


def _billed_to(table: sa.Table, of: str) -> sa.ColumnElement[bool]:
    """Return the condition of rows that count for a limit; that of a `month` is of one source, from its first day."""
    if of in ("run", "source"):
        return table.c[of] == sa.bindparam(of, type_=table.c[of].type)
    since = sa.bindparam(of, type_=table.c.day.type)
    return _billed_to(table, "source") & (table.c.day >= since) if of == "month" else table.c.day == since


def under_way(database: Database, of: str) -> sa.Select[Any]:
    """Return the statement that counts the running calls that count for a limit, in living processes."""
    alive = _billed_to(RESERVED, of) & (RESERVED.c.alive_until > now(database))
    return sa.select(sa.func.coalesce(sa.func.sum(RESERVED.c.under_way), 0)).where(alive)


def set_aside(database: Database) -> Any:
    """Return the statement that upserts a reservation: US dollars, number of calls and lease."""
    statement = database.insert(RESERVED).values(
        under_way=sa.bindparam("calls"), alive_until=now(database) + sa.bindparam("lease", type_=sa.Double)
    )
    more = {column: RESERVED.c[column] + statement.excluded[column] for column in ("usd", "under_way")}
    more["alive_until"] = statement.excluded.alive_until
    return statement.on_conflict_do_update(index_elements=["name"], set_=more)


def now(database: Database) -> sa.ColumnElement[float]:
    """Return the time in seconds since 1970, by the server's clock, since those of its clients may disagree."""
    if database.on_postgres:
        return sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
    return (sa.func.julianday("now") - _UNIX_EPOCH) * 86_400.0


SETTLE = (
    sa.update(RESERVED)
    .where(RESERVED.c.name == sa.bindparam("one"))
    .values(usd=RESERVED.c.usd - sa.bindparam("less"), under_way=RESERVED.c.under_way - sa.bindparam("ended"))
)
