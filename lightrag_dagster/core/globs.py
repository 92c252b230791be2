"""Globs over paths with forward slashes, the same in every Python version."""

from fnmatch import fnmatchcase

from lightrag_dagster.core.text.composed import composed


def matches(path: str, glob: str) -> bool:
    """Match a whole path against a glob in which `**` is any number of folders and `*` stays within one.

    Accents may be composed with their letters or not, in both.
    """

    def match(parts: list[str], patterns: list[str]) -> bool:
        if not patterns:
            return not parts
        if patterns[0] == "**":
            rest = patterns[1:]
            return not rest or any(match(parts[skipped:], rest) for skipped in range(len(parts)))
        return bool(parts) and fnmatchcase(parts[0], patterns[0]) and match(parts[1:], patterns[1:])

    return match(composed(path).split("/"), composed(glob).split("/"))


def may_hold(folder: str, glob: str) -> bool:
    """Say whether a path below a folder may match a glob."""
    for part, pattern in zip(parts := composed(folder).split("/"), patterns := composed(glob).split("/"), strict=False):
        if pattern == "**" or not fnmatchcase(part, pattern):
            return pattern == "**"
    return len(patterns) > len(parts)
