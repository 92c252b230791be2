"""Functions that other installed packages bring, by entry points. Nothing of them is imported before its first use."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lightrag_dagster.core.holding import Once
from lightrag_dagster.errors import one_line


class InstalledError(Exception):
    """A function of another package cannot be used; the message names its entry point and the reason, on one line."""


@dataclass(frozen=True)
class Installed:
    """The entry points of a name in a group: one, or those of several packages, of which none is preferred."""

    points: tuple[EntryPoint, ...]

    def __str__(self) -> str:
        """Return the entry points with the packages that bring them, and their versions."""
        named = (f"{one.name} = {one.value} of {one.dist.name} {one.dist.version}" for one in self.points if one.dist)
        return " and ".join(sorted(named))

    def call(self, argument: object) -> Any:
        """Import the function, unless it is imported, and return its result.

        Raises:
            InstalledError: it cannot be imported, or raises an error, or several packages bring one.
        """
        if len(self.points) > 1:
            raise InstalledError(f"several packages bring {self}; keep one of them")
        try:
            return self.points[0].load()(argument)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # packages may raise any kind, or be scripts that end
            raise InstalledError(f"{self} failed: {type(error).__name__}: {one_line(error)}") from error


@Once
def installed(group: str) -> Mapping[str, Installed]:
    """Return what installed packages bring for a group, by name in small letters, without a dot before it."""
    found = defaultdict[str, list[EntryPoint]](list)
    for point in entry_points(group=group):
        found[point.name.lower().lstrip(".")].append(point)
    return {name: Installed(tuple(points)) for name, points in found.items()}
