"""The models, threads and retriever of an opened knowledge base, and the check that they may be used."""

import asyncio
import contextvars
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore
from typing import TypeVar

from lightrag_dagster.core.background import DaemonThreads
from lightrag_dagster.errors import ClosedError
from lightrag_dagster.indexes.cypher import CypherReader
from lightrag_dagster.query.arguments import seconds_of
from lightrag_dagster.query.asked import UnderWay, asking, current
from lightrag_dagster.query.models import Models
from lightrag_dagster.query.retriever import Retriever
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.sql_reading import SqlReader
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.prompts import load_prompts

Result = TypeVar("Result")

_AWAITED = 1000
"""Maximum number of questions of event loops at once, each in a thread, which is cheap while it waits for a model."""

_WORKING = 32
"""Number of these that do not wait for a model: further ones wait for their turn, so that none takes very long."""

LAST_SECONDS = 1.0
"""Time that each part of a knowledge base that was left open may take to end."""


class Opened:
    """The working parts of a knowledge base, from its opening to its end; they belong to one process."""

    def __init__(self, snapshot: Snapshot, settings: Settings, account: Account | None) -> None:
        """Start models and threads; the caller closes the snapshot."""
        self._process = os.getpid()
        self._closed = False
        self.prompts = load_prompts(settings.prompts, settings.language)
        self.is_paid = snapshot.manifest.vectors.provider not in ("offline", "local")
        self.models = Models(settings, snapshot.manifest.vectors, account)
        self.retriever = Retriever(snapshot, settings, self.models, self.prompts)
        self._cypher: dict[Path, CypherReader] = {}
        self.sql = SqlReader()
        self.callers = DaemonThreads(settings.llm.max_concurrency, "lightrag-query")
        self._awaited = DaemonThreads(_AWAITED, "lightrag-async")
        self._turns = Semaphore(_WORKING)
        self.life = UnderWay()

    @property
    def is_open(self) -> bool:
        """False once it is closed, and in a forked process."""
        return not self._closed and os.getpid() == self._process

    def require_open(self) -> None:
        """Raise ClosedError if it is closed, or was opened in another process."""
        if os.getpid() != self._process:
            raise ClosedError(
                f"this knowledge base was opened in another process, {self._process}; open it here, and in each process"
                " after the fork"
            )
        if self._closed:
            raise ClosedError("this knowledge base is closed; open it again")

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Run the block only while the knowledge base is open.

        Raises:
            ClosedError: it is closed, also during the block, or was opened in another process.
        """
        self.require_open()
        try:
            yield
        except Exception:
            self.require_open()
            raise

    def cypher(self, graph: Path) -> CypherReader:
        """Return the reader of a graph, which is elsewhere once it was removed from the home."""
        if graph not in self._cypher:
            self._cypher.setdefault(graph, CypherReader(graph))
        return self._cypher[graph]

    def asked(self, seconds: object) -> UnderWay:
        """Begin a question of an event loop; raises QueryError for a time that is none."""
        return UnderWay(seconds_of(seconds), self._turns)

    def in_time(self, work: Callable[[], Result], seconds: float | None) -> Result:
        """Work on a question; if it has a time of its own, in a thread, which may end after it. Raises as `work`.

        Raises:
            QueryTimeoutError: it takes longer.
            ClosedError: the knowledge base is closed, also meanwhile.
        """
        if seconds is None or current().left() is not None:
            return work()
        with self.in_use(), asking(seconds) as asked:
            return asked.result(self._awaited.submit(contextvars.copy_context().run, work))

    async def in_thread(self, function: Callable[[], Result], asked: UnderWay) -> Result:
        """Work on a question in a thread, in the caller's context; raises as it does, and ClosedError.

        When its time is over or the caller is cancelled, its calls to models end at once, and the thread soon after. A
        thread of `asyncio.to_thread` would keep the caller's event loop from ending.
        """
        with self.in_use():
            limit = asyncio.timeout(asked.left())
            try:
                async with limit:
                    work = self._awaited.submit(contextvars.copy_context().run, asked.run, function)
                    return await asyncio.wrap_future(work)
            except BaseException as error:
                asked.give_up()
                if isinstance(error, TimeoutError) and limit.expired():
                    raise asked.too_late() from None
                raise

    def close(self, timeout: float | None = None) -> bool:
        """End calls and threads, waiting for each part at most `timeout` seconds; return True if there were any.

        There are none the second time, and in a forked process: all of them belong to the parent.
        """
        if not self.is_open:
            return False
        self._closed = True
        for reader in list(self._cypher.values()):
            reader.close()
        self.sql.close()
        self.life.give_up()
        try:
            self.models.close(timeout)
        finally:
            for threads in (self.callers, self._awaited):
                threads.shutdown(cancel_futures=True, timeout=timeout)
            self.retriever.close(timeout)
        return True

    def abandon(self, name: str) -> None:
        """Close a knowledge base that was left open, with a ResourceWarning that names it."""
        if self.close(LAST_SECONDS):
            warnings.warn(f"{name} was left open; use a `with` block, or close it", ResourceWarning, stacklevel=2)
