"""Tables of the ledger, and the statements that are run before and after each call."""

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    Double,
    Index,
    Integer,
    MetaData,
    ScalarSelect,
    Table,
    Text,
    bindparam,
    func,
    select,
    update,
)

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
    Index("ledger_run", "run"),
    Index("ledger_source", "source"),
    Index("ledger_day", "day"),
)
"""Entries. `day` is the day of the entry, in days since 1970, UTC; 0 in files of older versions."""

RECEIPTS = Table("receipts", _METADATA, Column("receipt", Text, primary_key=True))
"""Receipts of entries that must not be made twice."""

RESERVED = Table(
    "reserved",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("day", BigInteger, nullable=False),
    Column("source", Text, nullable=False),
    Column("usd", Double, nullable=False),
)
"""Money set aside, by account or batch: what its calls under way may cost, and what ended calls without entry did."""

TIMETABLES = Table(
    "timetables",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("taken_until", Double, nullable=False),
)
"""Until when the requests that were let through take up what a limit a minute allows. Seconds since 1970."""


KEPT = (RESERVED, RECEIPTS, LEDGER)
"""What a backup keeps, in an order in which no call that is entered meanwhile is missing from what was spent."""


def total(column: Column[float], condition: ColumnElement[bool]) -> ScalarSelect[float]:
    """Return the sum of a column over some rows, 0 without any."""
    return select(func.coalesce(func.sum(column), 0.0)).where(condition).scalar_subquery()


def _spent(period: str, column: str, value: BindParameter[object]) -> ColumnElement[float]:
    entered = total(LEDGER.c.cost_usd, LEDGER.c[column] == value)
    return (entered + total(RESERVED.c.usd, RESERVED.c[column] == value)).label(period)


SPENT = select(
    _spent(" a day", "day", bindparam("this_day", type_=BigInteger)),
    _spent(" a source", "source", bindparam("this_source", type_=Text)),
)
"""What was spent or set aside on a day and for a source. US dollars."""

SETTLE = update(RESERVED).where(RESERVED.c.name == bindparam("one")).values(usd=RESERVED.c.usd - bindparam("less"))
"""Sets less money aside."""
