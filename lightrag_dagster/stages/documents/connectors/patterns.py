"""The choice of a source's paths."""

from dataclasses import dataclass
from itertools import accumulate

from lightrag_dagster.core.globs import matches, may_hold
from lightrag_dagster.settings.sources import EVERY_PATH


@dataclass(frozen=True)
class Patterns:
    """Globs of included paths, and of excluded ones among them."""

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()

    def match(self, path: str) -> bool:
        """Return True if a path counts."""
        if self == EVERY_FILE:
            return True
        return any(matches(path, glob) for glob in self.include) and not self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Return True if `exclude` leaves out a file."""
        return any(matches(path, glob) for glob in self.exclude)

    def excludes_folder(self, folder: str) -> bool:
        """Return True if `exclude` leaves out all that is in a folder."""
        inside = (glob.removesuffix("/*") for glob in self.exclude)  # hr/**/* as hr/**
        return any(glob.endswith("/**") and matches(folder, glob) for glob in inside)

    def enters(self, folder: str) -> bool:
        """Return True if a file in a folder may count, or in one below it."""
        return not self.excludes_folder(folder) and any(may_hold(folder, glob) for glob in self.include)

    def reach(self, folder: str) -> bool:
        """Return True if a folder is entered from those above it, of which a hidden one is not."""
        above = accumulate(folder.split("/"), "{}/{}".format)
        return all(self.enters(one) and not one.rpartition("/")[2].startswith(".") for one in above)


EVERY_FILE = Patterns(EVERY_PATH)


def has_wildcard(path: str) -> bool:
    """Return True if a path is a glob."""
    return bool(frozenset("*?[") & set(path))


def divide(path: str) -> tuple[str, str]:
    """Return the folder before the first part of a path that has a wildcard, and the rest; "" without wildcards."""
    parts = path.split("/")
    wild = next((number for number, part in enumerate(parts) if has_wildcard(part)), len(parts))
    folder = "/".join(parts[:wild])
    return folder or "/" * path.startswith("/"), "/".join(parts[wild:])
