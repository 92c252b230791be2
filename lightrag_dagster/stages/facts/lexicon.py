"""The word lists of `words.txt`."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

END = "(?![^\\W⁰-⁹¹²³])"
"""The end of a word, which the sign of a footnote may follow."""


@cache
def meanings(section: str) -> dict[str, str]:
    """Return word → meaning of a section."""
    found = ((word.replace("_", " "), meaning) for meaning, words in sections()[section] for word in words.split())
    return {word.casefold(): meaning for word, meaning in found}


@cache
def listed(*names: str) -> frozenset[str]:
    """Return the words of some sections."""
    return frozenset(word for name in names for word in meanings(name))


def any_of(words: Iterable[str], end: str = END) -> str:
    """Return a pattern of any of some words, which end where they do if they have letters with case."""
    made = sorted(words, key=lambda one: (-len(one), one))
    return "|".join(
        rf"(?<![^\W\d_]){re.escape(one)}{end}" if one[-1].lower() != one[-1].upper() else re.escape(one) for one in made
    )


@cache
def sections() -> dict[str, list[tuple[str, str]]]:
    """Return section → its meanings, each with the words for it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (resources.files(__package__) / "words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            meaning, _, words = line.partition(": ")
            section.append((meaning, words))
    return found
