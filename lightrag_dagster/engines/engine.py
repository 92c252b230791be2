"""What every engine does."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")
Held = TypeVar("Held", covariant=True)


class Kept(Protocol[Held]):
    """What an engine keeps where it works: something that is slow to make and then takes all processors, or a GPU."""

    async def call(self, function: "Callable[[Held, Item], Result]", item: Item) -> Result:
        """Apply a function to what is kept and an item, and return its result; of many calls, some wait.

        Function and item can be pickled, and a call may be repeated. Raises the error of the function, or of making
        what is kept.
        """
        ...


class Engine(Protocol):
    """Applies functions to items; results do not depend on which engine it is."""

    @property
    def workers(self) -> int:
        """How many items are worked on at a time."""
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply a function to every item, and return the results in order.

        Function and items can be pickled, and a call may be repeated: where it writes, it writes the same again.
        Raises the first error of a call.
        """
        ...

    def keep(self, make: Callable[[], State]) -> AbstractContextManager[Kept[State]]:
        """Keep what `make` returns for the block, in as many places as it pays; each makes it at its first call."""
        ...
