"""The choice of a source's paths."""

from dataclasses import dataclass

from lightrag_dagster.core.globs import matches


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


EVERY_FILE = Patterns(("**/*",))


def has_wildcard(path: str) -> bool:
    """Return True if a path is a glob."""
    return bool(frozenset("*?[") & set(path))


def divide(path: str) -> tuple[str, str]:
    """Return the folder before the first part of a path that has a wildcard, and the rest; "" without wildcards."""
    parts = path.split("/")
    wild = next((number for number, part in enumerate(parts) if has_wildcard(part)), len(parts))
    folder = "/".join(parts[:wild])
    return folder or "/" * path.startswith("/"), "/".join(parts[wild:])
