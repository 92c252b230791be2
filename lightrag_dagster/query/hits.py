"""The hits of a mode: rows of the graph arrays, best first, and the paths to chunks."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Item = TypeVar("Item", bound=Hashable)

Hits = dict[int, float | None]
"""row → score, best first; None where nothing was compared."""

Path = list[str]
"""The path to a chunk: names of entities, relations (`A — B`) and passages (source/path), the chunk's own last."""


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
    turns = range(max(map(len, ranked), default=0))
    return list(dict.fromkeys(items[turn] for turn in turns for items in ranked if turn < len(items)))
