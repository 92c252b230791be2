"""Places in a passage of words that a model copied, also with other spaces, case, quotes and marks."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from lightrag_dagster.readers import detect_language
from lightrag_dagster.stages.facts.lexicon import meanings

_IN_NUMBERS = re.compile(r"(?<=\d)[.,/](?=\d)|(?<![^\W_])[-−](?=\d)")  # the minus is meant
_KEPT = "%‰°⁄"


Edges = Callable[[str, int, int], tuple[int, int] | None]
"""Returns the place of words in a text with what belongs to them; None where they are a part of others."""


class FoundWords(NamedTuple):
    """Words of a passage as they stand there, and their first character and one past the last."""

    words: str
    start: int
    end: int


class PassageText:
    """A text in which words are looked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def decimal(self) -> str | None:
        """The decimal sign of the text's language, if that is certain: Spanish, for one, has either by country."""
        return meanings("decimal signs of languages").get(detect_language(self._text) or "")

    def find(self, words: str, edges: Edges = lambda _, first, last: (first, last)) -> FoundWords | None:
        """Return where words stand: as they are, else by what counts in them; not within other words or numbers."""
        wanted = "".join(sign for sign, _ in _signs(words))
        if not wanted:
            return None
        for first, last in self._found(words, wanted):
            if self._is_whole(first, last) and (place := edges(self._text, first, last)):
                return FoundWords(self._text[slice(*place)], *place)
        return None

    def _found(self, words: str, wanted: str) -> Iterator[tuple[int, int]]:
        for start in _places(self._text, words):
            yield start, start + len(words)
        signs, places = self._folded
        for start in _places(signs, wanted):
            yield places[start], places[start + len(wanted) - 1] + 1

    def _is_whole(self, first: int, last: int) -> bool:
        """Say whether words and numbers end at both edges: `12` stands neither in `123` nor in `12.5`."""
        text = self._text
        before, after = text[max(0, first - 1) : first], text[last : last + 1]
        return not (
            _goes_on(before, text[first])
            or _goes_on(text[last - 1], after)
            or (before != "/" and _IN_NUMBERS.match(text, max(0, first - 1)))
            or (after != "/" and _IN_NUMBERS.match(text, last))
        )

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        signs = [*_signs(self._text)]
        return "".join(sign for sign, _ in signs), [place for _, place in signs]


def _goes_on(one: str, other: str) -> bool:
    """Say whether two characters are in one word or number; scripts without case write words without spaces."""
    return (one.isdigit() and other.isdigit()) or (one.lower() != one.upper() and other.lower() != other.upper())


def _places(text: str, words: str) -> Iterator[int]:
    """Yield each place of words in a text; those that overlap one before are left out, so that it takes linear time."""
    start = text.find(words)
    while start >= 0:
        yield start
        start = text.find(words, start + len(words))


def _signs(text: str) -> Iterator[tuple[str, int]]:
    """Yield what counts in a text, with its place: letters and digits, folded, and what tells numbers from others."""
    in_numbers = {found.start() for found in _IN_NUMBERS.finditer(text)}
    for place, character in enumerate(text):
        if place in in_numbers:
            yield "-" if character == "−" else character, place
            continue
        for one in unicodedata.normalize("NFKD", character).casefold():
            if one.isalnum() or one in _KEPT or unicodedata.category(one) == "Sc":
                yield one, place
