"""The word lists of `words.txt`."""

from functools import cache
from importlib import resources


@cache
def meanings(section: str) -> dict[str, str]:
    """Return word → meaning of a section."""
    return {
        word.replace("_", " ").casefold(): meaning
        for meaning, listed in _sections()[section]
        for word in listed.split()
    }


@cache
def listed(*sections: str) -> frozenset[str]:
    """Return the words of some sections."""
    return frozenset(word for section in sections for word in meanings(section))


@cache
def all_words() -> frozenset[str]:
    """Return the words of all sections."""
    return listed(*_sections())


@cache
def _sections() -> dict[str, list[tuple[str, str]]]:
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in (resources.files(__package__) / "words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            meaning, _, words = line.partition(": ")
            section.append((meaning, words))
    return sections
