"""The word lists of `words.txt`, one set for each of its sections."""

from functools import cache
from importlib import resources


@cache
def words(kind: str) -> frozenset[str]:
    """Return the words of one section, lower case."""
    return _sections()[kind]


@cache
def _sections() -> dict[str, frozenset[str]]:
    sections: dict[str, set[str]] = {}
    listed: set[str] = set()
    for line in (resources.files(__package__) / "words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            listed = sections.setdefault(line.strip("[]"), set())
        elif not line.startswith("#"):
            listed.update(line.split())
    return {kind: frozenset(found) for kind, found in sections.items()}
