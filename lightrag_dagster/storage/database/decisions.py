"""The table of decisions: what commands decided, durable before they return, and never touched by `gc`.

A decision that is undone stays as a row, so that its number is never given to another.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.engine import Database

DECISIONS = sa.Table(
    "decisions",
    sa.MetaData(),
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("decided_at", sa.Double, nullable=False),
    sa.Column("undone_at", sa.Double, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)

_SEQUENCE = "pg_get_serial_sequence('decisions', 'number')"
_LAST = (
    "SELECT max(seq) FROM sqlite_sequence WHERE name = 'decisions'",
    f"SELECT pg_sequence_last_value({_SEQUENCE}::regclass)",
)


class StoredDecision(NamedTuple):
    """A decision as JSON, with its number, and whether it was undone."""

    number: int
    document: str
    undone: bool = False


class DecisionStore(Database):
    """The decisions of one home; a commit survives a power cut. Every method raises StoreError."""

    def __init__(self, address: Address) -> None:
        super().__init__(address, [DECISIONS], synchronous="FULL")

    def all(self) -> list[StoredDecision]:
        """Return all decisions, in the order in which they were taken."""
        columns = (DECISIONS.c.number, DECISIONS.c.document, DECISIONS.c.undone_at)
        with self.begin() as connection:
            found = connection.execute(sa.select(*columns).order_by(DECISIONS.c.number))
            return [StoredDecision(number, document, bool(undone)) for number, document, undone in found]

    def add(self, documents: Iterable[str]) -> list[int]:
        """Append decisions in one transaction, and return their numbers."""
        with self.begin() as connection:
            statement = sa.insert(DECISIONS).returning(DECISIONS.c.number)
            return [connection.execute(statement, _row(document)).scalar_one() for document in documents]

    def undo(self, number: int) -> bool:
        """Undo a decision; return False if there is none of this number in force."""
        in_force = (DECISIONS.c.number == number) & (DECISIONS.c.undone_at == 0)
        statement = sa.update(DECISIONS).where(in_force).values(undone_at=time.time())
        with self.begin() as connection:
            return bool(connection.execute(statement, execution_options={"preserve_rowcount": True}).rowcount)

    def erase(self, numbers: Iterable[int]) -> None:
        """Remove decisions, so that no file of the database has their text."""
        with self.begin() as connection:
            for number in numbers:
                connection.execute(sa.delete(DECISIONS).where(DECISIONS.c.number == number))
        self.rewrite(DECISIONS)

    @property
    def last(self) -> int:
        """The last number that was given, perhaps to a decision that was erased since; 0 for none."""
        with self.begin() as connection:
            return connection.exec_driver_sql(_LAST[self.on_postgres]).scalar_one() or 0

    def skip(self, number: int) -> None:
        """Let the numbers to this one count as given."""
        with self.begin() as connection:
            connection.execute(sa.insert(DECISIONS), _row("") | {"number": number})
            connection.execute(sa.delete(DECISIONS).where(DECISIONS.c.number == number))
            if self.on_postgres:  # where only numbers count that it has given itself
                connection.exec_driver_sql(f"SELECT setval({_SEQUENCE}, {number:d})")

    def copy(self, others: Iterable[StoredDecision]) -> None:
        """Append decisions of another table, with their numbers; one in force alone."""
        with self.begin() as connection:
            for one in others:
                if not one.undone:
                    connection.execute(sa.insert(DECISIONS), _row(one.document) | {"number": one.number})


def _row(document: str) -> dict[str, object]:
    return {"document": document, "decided_at": time.time()}
