"""Work in processes of this machine."""

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager

from lightrag_dagster.engines.engine import LOCAL, Item, Kept, Result, State
from lightrag_dagster.errors import EngineError

_ATTEMPTS = 3


class ProcessEngine:
    """An engine of worker processes, which start with the first call of several items and end with the block.

    They are started afresh (`spawn`): Lance and the threads of DuckDB do not survive a fork.
    """

    def __init__(self, workers: int | None = None) -> None:
        """Take a number of workers; by default the number of processors."""
        self.workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "ProcessEngine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See `Engine.map`. A single item is worked on in this process; the items of a killed worker are repeated.

        Raises:
            EngineError: workers were killed repeatedly.
        """
        todo = list(items)
        if len(todo) < 2:
            return [function(item) for item in todo]
        done: dict[int, Result] = {}
        for _ in range(_ATTEMPTS):
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"))
            waiting: dict[int, Future[Result]] = {}
            try:
                for at, item in enumerate(todo):
                    if at not in done:
                        waiting[at] = self._pool.submit(function, item)
                for at, future in waiting.items():
                    done[at] = future.result()
                return [done[at] for at in range(len(todo))]
            except BrokenProcessPool:
                done |= {at: one.result() for at, one in waiting.items() if one.done() and not one.exception()}
                self._pool.shutdown()
                self._pool = None
        left = len(todo) - len(done)
        raise EngineError(
            f"workers were killed {_ATTEMPTS} times while {left} of {len(todo)} parts were to be done; if memory ran "
            "out, set LIGHTRAG_ENGINE=local, and run again"
        )

    def keep(self, make: Callable[[], State]) -> AbstractContextManager[Kept[State]]:
        """See `Engine.keep`: once, in this process; more would share the processors that one uses."""
        return LOCAL.keep(make)
