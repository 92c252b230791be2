"""Merging ranked lists fairly."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)

_NOTHING = object()


def round_robin(*ranked: Sequence[Item]) -> list[Item]:
    """Return the first of each list, then the second of each, and so on, every item once at its first place."""
    turns: Iterable[Item] = (
        item
        for item in chain.from_iterable(zip_longest(*ranked, fillvalue=_NOTHING))  # type: ignore[arg-type]
        if item is not _NOTHING
    )
    return list(dict.fromkeys(turns))
