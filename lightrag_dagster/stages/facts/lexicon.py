"""The word lists of `words.txt`."""

import re
from collections.abc import Iterable, Set
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


def any_of(words: Set[str], end: str = END) -> str:
    """Return a pattern of any of some words, which end where they do if they have letters with case."""
    cased = {one for one in words if one[-1].lower() != one[-1].upper()}
    found = [_either(words - cased)] if words - cased else []
    return "|".join([*found, rf"(?<![^\W\d_]){_either(cased)}{end}"] if cased else found)


def _either(words: Iterable[str]) -> str:
    """Return a pattern of the longest of some words, which looks at each letter once."""
    rests: dict[str, list[str]] = {}
    for word in sorted(words, reverse=True):
        rests.setdefault(word[:1], []).append(word[1:])
    made = [re.escape(first) + (_either(each) if first else "") for first, each in rests.items()]
    return f"(?:{'|'.join(made)})" if len(made) > 1 else made[0]


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
