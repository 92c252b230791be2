"""The word lists of `words.txt` and `nouns.txt`, one set for each of their sections."""

from functools import cache
from importlib import resources

NOUN_TYPES = (
    *("person", "content", "artifact", "organization", "event", "location", "method", "concept"),
    *("naturalobject", "creature"),
)
"""Entity types that have a section of nouns; a noun in several sections has the first of these types."""


@cache
def words(kind: str) -> frozenset[str]:
    """Return the words of one section, lower case."""
    return _sections()[kind]


@cache
def noun_types() -> dict[str, str]:
    """Return the entity type of each noun that classifies names."""
    named = {"roles": "person", "places": "location", "events": "event", "organizations": "organization"}
    sections = {f"{kind} nouns": kind for kind in NOUN_TYPES} | named
    found: dict[str, str] = {}
    for section, kind in sections.items():
        for noun in sorted(words(section)):
            found.setdefault(noun, kind)
    return found


@cache
def _sections() -> dict[str, frozenset[str]]:
    sections: dict[str, set[str]] = {}
    listed: set[str] = set()
    folder = resources.files(__package__)
    lines = (line for name in ("words.txt", "nouns.txt") for line in (folder / name).read_text("utf-8").splitlines())
    for line in lines:
        if line.startswith("["):
            listed = sections.setdefault(line.strip("[]"), set())
        elif not line.startswith("#"):
            listed.update(line.split())
    return {kind: frozenset(found) for kind, found in sections.items()}
