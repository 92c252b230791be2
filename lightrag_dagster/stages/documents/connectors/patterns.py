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
        included, excluded = (any(matches(path, glob) for glob in globs) for globs in (self.include, self.exclude))
        return included and not excluded

    def enters(self, folder: str) -> bool:
        """Return True if a file in a folder may count, or in one below it."""
        inside = [glob.removesuffix("/*") for glob in self.exclude]  # hr/**/* as hr/**
        left_out = any(glob.endswith("/**") and matches(folder, glob.removesuffix("/**")) for glob in inside)
        return not left_out and any(may_hold(folder, glob) for glob in self.include)

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
