"""The hits of a mode: rows of the graph arrays, best first, and the paths to chunks."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any, TypeVar, cast

Item = TypeVar("Item", bound=Hashable)

Hits = dict[int, float | None]
"""row → score, best first; None where nothing was compared."""

Path = list[str]
"""The path to a chunk: names of entities, relations (`A — B`) and passages (source/path), the chunk's own last."""

_NOTHING = object()


@dataclass(frozen=True)
class Found:
    """The rows that a mode found, each best first."""

    entities: Hits = field(default_factory=dict)
    relations: Hits = field(default_factory=dict)
    chunks: Hits = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    """Further facts of the step for `--explain`; ready for JSON."""
    paths_to: Callable[[int], list[Path]] | None = None
    """A function that returns the paths to one of the chunks; without it, each was found by its own similarity."""


def round_robin(*ranked: Sequence[Item]) -> list[Item]:
    """Return the first of each list, then the second of each, and so on, every item once at its first place."""
    turns = chain.from_iterable(zip_longest(*ranked, fillvalue=_NOTHING))
    return list(dict.fromkeys(cast("Item", item) for item in turns if item is not _NOTHING))
