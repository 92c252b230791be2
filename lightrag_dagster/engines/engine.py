"""The protocol of all engines."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

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
        ...


class Engine(Protocol):
    """An engine applies functions to items; the results do not depend on the engine."""

    @property
    def workers(self) -> int:
        """Number of items that are worked on at a time."""
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply a function to every item, and return the results in order.

        Function and items can be pickled, and a call may be repeated: if it writes, it writes the same again.
        Raises the first error of a call.
        """
        ...

    def keep(self, make: Callable[[], State]) -> AbstractContextManager[Kept[State]]:
        """Keep the result of `make` for the block, in one or several workers; each makes it at its first call."""
        ...
