"""Merging ranked lists fairly."""

from collections.abc import Hashable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar, cast

Item = TypeVar("Item", bound=Hashable)

_NOTHING = object()


def round_robin(*ranked: Sequence[Item]) -> list[Item]:
    """Return the first of each list, then the second of each, and so on, every item once at its first place."""
    turns = chain.from_iterable(zip_longest(*ranked, fillvalue=_NOTHING))
    return list(dict.fromkeys(cast("Item", item) for item in turns if item is not _NOTHING))
