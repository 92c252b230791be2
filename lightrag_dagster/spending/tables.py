"""Tables of the ledger, and the statements that are run before and after each call."""

from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Double,
    Index,
    Integer,
    MetaData,
    ScalarSelect,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    func,
    literal,
    select,
    union_all,
    update,
)

from lightrag_dagster.storage.database.engine import Database

_UNIX_EPOCH = 2_440_587.5
"""Days since noon on 24 November 4714 BC, with which SQLite counts."""

_METADATA = MetaData()
LEDGER = Table(
    "ledger",
    _METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("run", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("stored", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("cached_input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Double, nullable=False),
    Column("day", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False, server_default="0"),
    Index("ledger_run", "run"),
    Index("ledger_source", "source"),
    Index("ledger_day", "day"),
)
"""Entries. `day` is the day of the entry, in days since 1970, UTC."""

RECEIPTS = Table("receipts", _METADATA, Column("receipt", Text, primary_key=True))
"""Receipts of entries that must not be made twice."""

RESERVED = Table(
    "reserved",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("day", BigInteger, nullable=False),
    Column("source", Text, nullable=False),
    Column("usd", Double, nullable=False),
    Column("run", Text, nullable=False),
    Column("under_way", BigInteger, nullable=False),
    Column("alive_until", Double, nullable=False),
)
"""Money set aside, by opened model or batch: the worst cost of running calls, and the cost of ended ones without entry.

`under_way` counts the running calls; others wait for their end until `alive_until`, in seconds since 1970.
"""

SET_ASIDE = "set aside"
"""The purpose of calls without an entry."""

BATCH = -1e12
"""Lease of what is set aside for a batch, which has no process that others wait for. Seconds."""

_WITHOUT_ENTRY: dict[str, ColumnElement[Any]] = {
    "number": literal(2**62),
    "purpose": literal(SET_ASIDE),
    "model": literal(""),
    "cost_usd": RESERVED.c.usd,
    **{name: RESERVED.c[name] for name in ("run", "source", "day")},
}
ALL = union_all(
    select(LEDGER),
    select(*(_WITHOUT_ENTRY.get(one.name, literal(0)).label(one.name) for one in LEDGER.c)).where(
        RESERVED.c.usd > 0, RESERVED.c.alive_until > 0
    ),
).subquery()
"""The entries, and behind them those of calls without one yet: at their cost, or at their worst while they run.

A killed process leaves them. Batches have none before their answers are there.
"""

RATE_LIMITS = Table(
    "timetables",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("taken_until", Double, nullable=False),
)
"""Rate limits per minute: the time until which each is taken up by earlier requests. Seconds since 1970."""


KEPT = (RESERVED, RECEIPTS, LEDGER)
"""Tables that a backup keeps, in an order that never misses the cost of a call that is entered meanwhile."""


@cache
def spent_of(limited: tuple[str, ...]) -> Select[Any]:
    """Return the statement that sums the money spent or set aside, for one `run`, `day`, `source` or `month` each."""
    statement: Select[Any] = select()
    for of in limited:
        statement = statement.add_columns((_total("cost_usd", LEDGER, of) + _total("usd", RESERVED, of)).label(of))
    return statement


def _total(amount: str, table: Table, of: str) -> ScalarSelect[float]:
    total = func.coalesce(func.sum(table.c[amount]), 0.0)
    return select(total).where(_billed_to(table, of)).scalar_subquery()


def _billed_to(table: Table, of: str) -> ColumnElement[bool]:
    """Return the condition of rows that count for a limit; that of a `month` is of one source, from its first day.

    A batch counts for each day until its answers are entered, since they are entered then.
    """
    if of in ("run", "source"):
        return table.c[of] == bindparam(of, type_=table.c[of].type)
    since = bindparam(of, type_=table.c.day.type)
    when = table.c.day >= since if of == "month" else table.c.day == since
    if table is RESERVED:
        when |= RESERVED.c.alive_until < 0
    return _billed_to(table, "source") & when if of == "month" else when


def under_way(database: Database, of: str) -> Select[Any]:
    """Return the statement that counts the running calls that count for a limit, in living processes."""
    alive = _billed_to(RESERVED, of) & (RESERVED.c.alive_until > now(database))
    return select(func.coalesce(func.sum(RESERVED.c.under_way), 0)).where(alive)


def set_aside(database: Database) -> Any:
    """Return the statement that upserts a reservation: US dollars, number of calls and lease."""
    statement = database.insert(RESERVED).values(
        under_way=bindparam("calls"), alive_until=now(database) + bindparam("lease", type_=Double)
    )
    more = {column: RESERVED.c[column] + statement.excluded[column] for column in ("usd", "under_way")}
    newer = {column: statement.excluded[column] for column in ("day", "alive_until")}
    return statement.on_conflict_do_update(index_elements=["name"], set_=more | newer)


def now(database: Database) -> ColumnElement[float]:
    """Return the time in seconds since 1970, by the server's clock, since those of its clients may disagree."""
    if database.on_postgres:
        return cast(func.extract("epoch", func.clock_timestamp()), Double)
    return (func.julianday("now") - _UNIX_EPOCH) * 86_400.0


SETTLE = (
    update(RESERVED)
    .where(RESERVED.c.name == bindparam("one"))
    .values(usd=RESERVED.c.usd - bindparam("less"), under_way=RESERVED.c.under_way - bindparam("ended"))
)
"""The statement that reduces the money set aside when a call has ended."""
