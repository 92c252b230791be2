"""Functions that other installed packages bring, by entry points. Nothing of them is imported before its first use."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

from lightrag_dagster.errors import one_line


@dataclass(frozen=True)
class Installed:
    """A name of a group and its entry points: one, or those of several packages that cannot be told apart."""

    points: tuple[EntryPoint, ...]

    def __str__(self) -> str:
        """Return the entry points with the packages that bring them, and their versions."""
        packages = [f" of {one.dist.name} {one.dist.version}" if one.dist else "" for one in self.points]
        named = zip(self.points, packages, strict=True)
        return " and ".join(sorted(f"{one.name} = {one.value}{package}" for one, package in named))

    def load(self) -> Any:
        """Import the function.

        Raises:
            ImportError: it cannot be imported, or several packages bring one.
        """
        if len(self.points) > 1:
            raise ImportError(f"several packages bring {self}; keep one of them")
        try:
            return self.points[0].load()
        except Exception as error:  # a module may raise anything
            raise ImportError(f"{self} cannot be imported: {type(error).__name__}: {one_line(error)}") from error


@cache
def installed(group: str) -> Mapping[str, Installed]:
    """Return what installed packages bring for a group, by name in small letters, without a dot before it."""
    found = defaultdict[str, list[EntryPoint]](list)
    for point in _all().select(group=group):
        found[point.name.lower().lstrip(".")].append(point)
    return {name: Installed(tuple(points)) for name, points in found.items()}


@cache
def _all() -> EntryPoints:
    return entry_points()  # reads a file of every installed package
