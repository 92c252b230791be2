"""The last attempts at each source: when a run made it what it should be, or found it so, and why one failed since.

They are in the database of the ledger, so that all machines of a home share them; a backup leaves them out.
"""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa

from lightrag_dagster.errors import LightRAGError
from lightrag_dagster.storage.database.address import Address, is_there
from lightrag_dagster.storage.database.engine import Database

KNOWLEDGE_BASE = ""
"""The place of a source where all of them are merged and published."""

DAEMON = "...daemon"
"""The place of a source where Dagster's daemon asks our sensors; no source may have such a name."""

_LOOKS = sa.Table(
    "looks",
    sa.MetaData(),
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("backfill", sa.Boolean, primary_key=True),
    sa.Column("good_at", sa.Double),
    sa.Column("failed_at", sa.Double),
    sa.Column("error", sa.Text),
)


class Attempts(NamedTuple):
    """The attempts at a source: the last good one, and the last one that failed since, with the reason.

    Seconds since 1970; None if there is none.
    """

    good_at: float | None = None
    failed_at: float | None = None
    error: str | None = None


NEVER = Attempts()


class Looks:
    """The attempts at all sources of a home, by the database of its ledger. Every method raises StoreError."""

    def __init__(self, address: Address) -> None:
        """Name the database; it is opened by each method."""
        self._address = address

    def read(self, *, backfill: bool = False) -> dict[str, Attempts]:
        """Return source → attempts, of backfills or of all else; also where nothing may be written."""
        if not is_there(self._address):
            return {}
        with Database(self._address, []) as database, database.begin() as connection:
            if not sa.inspect(connection).has_table(_LOOKS.name):
                return {}
            found = connection.execute(sa.select(_LOOKS).where(_LOOKS.c.backfill == backfill))
            return {row.source: Attempts(row.good_at, row.failed_at, row.error) for row in found}

    def good(self, sources: Collection[str], *, backfill: bool = False) -> None:
        """Note that sources are what they should be now."""
        self._note(sources, backfill, good_at=time.time(), failed_at=None, error=None)

    def failed(self, source: str, error: str, *, backfill: bool = False) -> None:
        """Note why an attempt at a source failed now."""
        self._note([source], backfill, failed_at=time.time(), error=error)

    def continued(self, source: str, *, backfill: bool = False) -> None:
        """Note that the last attempt at a source did not fail, and that another one will end it."""
        self._note([source], backfill, failed_at=None, error=None)

    @contextmanager
    def noting(self, source: str, *, backfill: bool = False) -> Iterator[None]:
        """Note an error that ends the block, and raise it."""
        try:
            yield
        except LightRAGError as error:
            self.failed(source, str(error), backfill=backfill)
            raise

    def forget_reasons(self) -> None:
        """Remove the texts of errors, which may name a document."""
        with Database(self._address, [_LOOKS]) as database:
            with database.begin() as connection:
                connection.execute(sa.update(_LOOKS).values(error=None))
            database.rewrite(_LOOKS)

    def _note(self, sources: Collection[str], backfill: bool, **values: float | str | None) -> None:
        if not sources:
            return
        with Database(self._address, [_LOOKS]) as database, database.begin() as connection:
            statement = database.insert(_LOOKS).on_conflict_do_update(
                index_elements=["source", "backfill"], set_=values
            )
            connection.execute(statement, [{"source": source, "backfill": backfill} | values for source in sources])
