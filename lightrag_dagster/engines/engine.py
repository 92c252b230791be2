"""The protocol of all engines, and the one that works in this process, one item after the other.

DuckDB, Arrow and the models use all processors of this one by themselves.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")
Held = TypeVar("Held", covariant=True)


class Kept(Protocol[Held]):
    """An object kept in a worker, such as a loaded model: slow to make, and using all processors or a GPU."""

    async def call(self, function: "Callable[[Held, Item], Result]", item: Item) -> Result:
        """Apply a function to the kept object and an item, and return its result; calls may wait for each other.

        Function and item can be pickled, and a call may be repeated. Raises the error of the function, or of making the
        kept object.
        """


class Engine(Protocol):
    """An engine applies functions to items; the results do not depend on the engine."""

    @property
    def workers(self) -> int:
        """Number of items that are worked on at a time."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply a function to every item, and return the results in order.

        Function and items can be pickled, and a call may be repeated: if it writes, it writes the same again.
        Raises the first error of a call.
        """

    def keep(self, make: Callable[[], State]) -> AbstractContextManager[Kept[State]]:
        """Keep the result of `make` for the block, in one or several workers; each makes it at its first call."""


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


LOCAL = LocalEngine()


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
