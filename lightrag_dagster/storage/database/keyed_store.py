"""Tables of paid responses and vectors, by key."""

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any
from zlib import crc32

import sqlalchemy as sa

from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.engine import Database, given

_log = logging.getLogger(__name__)

_AT_ONCE = 10_000


class KeyedTable(Database):
    """Base of the stores: rows by key. A row never changes: the first to be put stays.

    Each has a checksum, unless it was put by a version without them. A row with another one is damaged, and counts as
    not stored.

    `last_used` is the day on which a row was last put or read, so that rows without use can be removed; it is written
    at most once a day for each row.
    """

    def __init__(self, address: Address, table: sa.Table, **options: Any) -> None:
        """Open the database, creating the table where needed; it has the `options` of a `Database`."""
        self._table = table
        # Text that is not UTF-8 any more is read too: its row then has another checksum.
        super().__init__(address, [table], text_factory=partial(str, encoding="utf-8", errors="replace"), **options)
        # Made once, since making a statement takes longer than running it.
        among = self.among(table.c.key)
        self._insert = self.insert(table).on_conflict_do_nothing()
        self._select = sa.select(table).where(among)
        self._select_keys = sa.select(table.c.key).where(among)
        self._remove = sa.delete(table).where(among)
        self._use = sa.update(table).where(among).values(last_used=sa.bindparam("today"))

    def _read(self, keys: Iterable[str]) -> dict[str, sa.Row[Any]]:
        """Return the rows that exist, key first, and note that they were used. A damaged one is removed, and told."""
        with self.begin() as connection:
            rows = connection.execute(self._select, given(keys)).all()
        sound = {row.key: row for row in rows if row.crc32 in (None, _sum(row[:-2]))}
        if damaged := [str(row.key) for row in rows if row.key not in sound]:
            number = counted(len(damaged), "row that is", "rows that are")
            _log.warning("%s has %s not as stored, and paid for again if asked; check the disk", self.name, number)
        self._try(self._remove, damaged)
        self._try(self._use, [key for key, row in sound.items() if row.last_used != _today()], today=_today())
        return sound

    def _try(self, statement: sa.Executable, keys: list[str], **values: int) -> None:
        # A full disk, a read-only file or a long write of another process must not keep anything from being read.
        with contextlib.suppress(StoreError):
            if keys:
                with self.begin() as connection:
                    connection.execute(statement, given(keys) | values)

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store rows, in one transaction; they are durable when this returns."""
        # In the order of keys, so that two writers of the same rows never wait for each other in Postgres.
        summed = ({**row, "crc32": _sum(row.values()), "last_used": _today()} for row in rows)
        if new := sorted(summed, key=itemgetter("key")):
            with self.begin() as connection:
                connection.execute(self._insert, new)

    def known(self, keys: Iterable[str]) -> set[str]:
        """Return the keys that have a row, without using them."""
        with self.begin() as connection:
            return set(connection.execute(self._select_keys, given(keys)).scalars())

    def keys(self) -> Iterator[str]:
        """Yield the keys of all rows, in order, without using them; the store is free between some and the next."""
        key, some = self._table.c.key, [""]
        while some:
            with self.begin() as connection:
                after = sa.select(key).where(key > some[-1]).order_by(key).limit(_AT_ONCE)
                some = list(connection.execute(after).scalars())
            yield from some

    def erase(self, keys: Iterable[str]) -> int:
        """Remove the rows with these keys for good, and what is left in the file of rows that were removed before.

        Returns the number of keys.
        """
        left = iter(keys)
        erased = 0
        while some := list(islice(left, _AT_ONCE)):
            with self.begin() as connection:
                connection.execute(self._remove, given(some))
            erased += len(some)
        self.rewrite(self._table)
        return erased

    @property
    def stored_bytes(self) -> int:
        """Length of the file and of its write-ahead log, or of the table in Postgres."""
        return self.size(self._table)

    def count(self, *, unused_for: int = 0) -> int:
        """Return the number of rows that were not used for a number of days; of all rows by default."""
        unused = self._table.c.last_used <= _today() - unused_for
        with self.begin() as connection:
            return connection.execute(sa.select(sa.func.count()).where(unused)).scalar_one()

    def prune(self, unused_for: int) -> int:
        """Remove the rows that were not used for a number of days, and return their number.

        An SQLite file shrinks, for which the disk must have room for a copy of the rows that stay.
        """
        with self.begin() as connection:
            unused = self._table.c.last_used <= _today() - unused_for
            removed = connection.execute(sa.delete(self._table).where(unused)).rowcount
        if removed:
            self.shrink()
        return removed


def keyed_table(name: str, *columns: sa.Column[Any]) -> sa.Table:
    """Return a table with some columns between the key, and the checksum and the day of the last use."""
    key = sa.Column("key", sa.Text, primary_key=True)
    checksum = sa.Column("crc32", sa.BigInteger)
    last_used = sa.Column("last_used", sa.BigInteger, nullable=False)
    # In SQLite rows come one after the other and the keys apart: in order of the keys, which are hashes, each long row
    # would have pages of its own that are half empty.
    return sa.Table(name, sa.MetaData(), key, *columns, checksum, last_used)


def _sum(row: Iterable[object]) -> int:
    """Return the checksum of the values of a row; a number counts by 12 digits, which every database gives back."""
    values = (f"{float(one):.12g}" if isinstance(one, int | float) else one for one in row)
    return crc32(b"\0".join(one if isinstance(one, bytes) else f"'{one}'".encode() for one in values))


def _today() -> int:
    """Return the day, UTC. Days since 1970."""
    return int(time.time() // 86_400)
