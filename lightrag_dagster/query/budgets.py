"""Fitting a ranked list into a number of tokens, whole items only."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def fitting(
    items: Iterable[Item], line_of: Callable[[Item], str], count: Callable[[str], int], budget: int
) -> Iterator[Item]:
    """Yield items from the front for as long as their lines fit together, and read none after the first that does not.

    A line counts with the newline that ends it: that is how it stands in the context.
    """
    left = budget
    for item in items:
        left -= count(line_of(item) + "\n")
        if left < 0:
            return
        yield item
