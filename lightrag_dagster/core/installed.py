"""Functions that other installed packages bring, by entry points. Nothing of them is imported before its first use."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lightrag_dagster.core.holding import Once
from lightrag_dagster.errors import one_line


class InstalledError(Exception):
    """A function of another package cannot be used; the message names its entry point and the reason, on one line."""


@contextmanager
def naming(failed: str, wrong: Callable[[str], Exception], mended_by: str = "") -> Iterator[None]:
    """Raise any error of code of others, which may be a script that ends, as one that begins with `failed`.

    Its kind follows, its message on one line, and `mended_by`.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        reason = ": ".join(filter(None, (failed, type(error).__name__, one_line(error))))
        raise wrong(reason + mended_by) from error


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
        with self.named():
            return self.points[0].load()(argument)

    def named(self) -> AbstractContextManager[None]:
        """Raise any error of what the function returned as InstalledError too."""
        return naming(f"{self} failed", InstalledError)


@Once
def installed(group: str) -> Mapping[str, Installed]:
    """Return what installed packages bring for a group, by name in small letters, without a dot before it."""
    found = defaultdict[str, list[EntryPoint]](list)
    for point in entry_points(group=group):
        found[point.name.lower().lstrip(".")].append(point)
    return {name: Installed(tuple(points)) for name, points in found.items()}
