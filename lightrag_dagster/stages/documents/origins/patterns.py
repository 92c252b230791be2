"""Which paths of a source count."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True)
class Patterns:
    """Globs of paths that count, and of those that do not although they match one of the former."""

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()

    def match(self, path: str) -> bool:
        """Say whether a path counts."""
        if self == EVERY_FILE:
            return True
        parts = path.split("/")
        return _any(parts, self.include) and not _any(parts, self.exclude)


EVERY_FILE = Patterns(("**/*",))


def has_wildcard(path: str) -> bool:
    """Say whether a path is a glob."""
    return bool(_WILDCARDS & set(path))


def divide(path: str) -> tuple[str, str]:
    """Return the folder before the first part of a path that has a wildcard, and the rest; "" without wildcards."""
    parts = path.split("/")
    wild = next((number for number, part in enumerate(parts) if has_wildcard(part)), len(parts))
    folder = "/".join(parts[:wild])
    return folder or "/" * path.startswith("/"), "/".join(parts[wild:])


def _any(parts: list[str], globs: Sequence[str]) -> bool:
    return any(_match(parts, glob.split("/")) for glob in globs)


def _match(parts: list[str], patterns: list[str]) -> bool:
    """Match a path against a glob in which `**` is any number of folders; the same in every Python version."""
    if not patterns:
        return not parts
    if patterns[0] == "**":
        rest = patterns[1:]
        return not rest or any(_match(parts[skipped:], rest) for skipped in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _match(parts[1:], patterns[1:])
