"""What every engine does."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


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
