"""Work in this process, one item after the other: DuckDB, Arrow and the models use all its processors by themselves."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Generic

from lightrag_dagster.engines.engine import Item, Kept, Result, State


class LocalEngine:
    """An engine that works in this process."""

    workers = 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See `Engine.map`."""
        return [function(item) for item in items]

    @contextmanager
    def keep(self, make: Callable[[], State]) -> Iterator[Kept[State]]:
        """See `Engine.keep`: once, in this process."""
        with ThreadPoolExecutor(max_workers=1) as thread:
            yield _KeptHere(make, thread)


class _KeptHere(Generic[State]):
    """A kept object in this process; one call at a time, in the one thread."""

    def __init__(self, make: Callable[[], State], thread: ThreadPoolExecutor) -> None:
        self._make = make
        self._thread = thread

    @cached_property
    def _state(self) -> State:
        return self._make()

    async def call(self, function: Callable[[State, Item], Result], item: Item) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(self._state, item))
