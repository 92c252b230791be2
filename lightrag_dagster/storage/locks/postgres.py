"""Advisory locks of Postgres, each held by a connection of its own: the server releases them when the holder dies.

A name is locked within the current schema of the connection. The connection's application name tells who holds a lock.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import sqlalchemy as sa
from pydantic import SecretStr

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.database.engine import new_postgres_engine
from lightrag_dagster.storage.database.errors import address_name, explained
from lightrag_dagster.storage.locks.base import report_waiting, still_locked

_PREFIX = "lightrag "
_LONGEST_NAME = 63
"""Postgres cuts a longer application name. Bytes."""

_POLL_SECONDS = 0.25
_HOLDER = sa.text(read_sql(__package__, "lock_holder"))
# A holder whose machine has gone is noticed after about a minute.
_KEEPALIVE = ("SET tcp_keepalives_idle = 30", "SET tcp_keepalives_interval = 10", "SET tcp_keepalives_count = 3")


class PostgresLock:
    """One lock, which any number of blocks of its owner enter: a process, or a thread of it."""

    def __init__(self, address: SecretStr, name: str) -> None:
        """Name the lock; `enter` connects."""
        self._address = address
        self._name = name
        self._blocks = 0
        self._entering = threading.Lock()
        self._connection: sa.Connection | None = None

    def enter(self, timeout: float, what: str) -> None:
        """Begin a block, waiting for another process up to `timeout` seconds.

        Raises:
            BuilderLockedError: another process still held the lock; the message says who and `what` it does.
            StoreError: the database cannot be reached.
        """
        with self._entering:
            if not self._blocks:
                self._acquire(timeout, what)
            self._blocks += 1

    def leave(self) -> None:
        """End a block; the last one releases the lock."""
        with self._entering:
            self._blocks -= 1
            if not self._blocks:
                self._disconnect()

    def still_held(self) -> bool:
        """Ask the server whether this very connection holds the lock."""
        holder: sa.Row[tuple[bool, str]] | None = None
        with suppress(StoreError), self._entering:
            holder = self._holder()
        return holder is not None and holder.ours

    def _acquire(self, timeout: float, what: str) -> None:
        name = f"{_PREFIX}process {os.getpid()} on {socket.gethostname()}"[:_LONGEST_NAME]
        engine = new_postgres_engine(self._address.get_secret_value(), name, poolclass=sa.NullPool)
        until, waiting = time.monotonic() + timeout, False
        try:
            with explained(address_name(self._address)):
                self._connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                for statement in _KEEPALIVE:
                    self._connection.exec_driver_sql(statement)
            while not self._try():
                if not waiting:
                    report_waiting(self._who(), what, timeout)
                    waiting = True
                if time.monotonic() >= until:
                    raise still_locked(self._who(), what, timeout)
                time.sleep(min(_POLL_SECONDS, max(0.0, until - time.monotonic())))
        except BaseException:
            self._disconnect()
            raise

    def _try(self) -> bool:
        key = sa.func.hashtextextended(sa.func.concat(sa.func.current_schema(), "/", self._name), 0)
        with explained(address_name(self._address)):
            return bool(self._connected().execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar_one())

    def _holder(self) -> sa.Row[tuple[bool, str]] | None:
        with explained(address_name(self._address)):
            return self._connected().execute(_HOLDER, {"name": self._name}).first()

    def _who(self) -> str:
        holder = self._holder()
        if holder is None or not (holder.name or "").startswith(_PREFIX):
            return "another process"
        return str(holder.name).removeprefix(_PREFIX)

    def _connected(self) -> sa.Connection:
        # SQLAlchemy would replace a broken connection by another one, which does not hold the lock.
        if self._connection is None or self._connection.invalidated:
            raise StoreError(f"the lock {self._name!r} is not held; run again")
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(StoreError), explained(address_name(self._address)):
                # A closed connection is noticed by the server a little later.
                if not connection.invalidated:
                    connection.execute(sa.select(sa.func.pg_advisory_unlock_all()))
            connection.close()


# A lock is forgotten when its last block has ended.
_locks: "WeakValueDictionary[tuple[str, str, int], PostgresLock]" = WeakValueDictionary()
_locks_lock = threading.Lock()


class PostgresLocks(NamedTuple):
    """Locks in the database at an address, named by a prefix and the paths of their files below the root of a home."""

    address: SecretStr
    root: Path
    prefix: str

    @contextmanager
    def hold(self, path: Path, timeout: float, what: str, *, any_thread: bool) -> Iterator[PostgresLock]:
        """See `Locks.hold`."""
        name = f"{self.prefix}{path.relative_to(self.root).with_suffix('')}"
        key = (self.address.get_secret_value(), name, 0 if any_thread else threading.get_ident())
        with _locks_lock:
            lock = _locks.setdefault(key, PostgresLock(self.address, name))
        lock.enter(timeout, what)
        try:
            yield lock
        finally:
            lock.leave()
