"""Standing: where words that a model copied stand in a passage, whatever it did to spaces, case, quotes and marks."""

import re
import unicodedata
from functools import cached_property
from typing import NamedTuple

_LEFT_OUT = re.compile(r"[\W_]", re.UNICODE)


class Span(NamedTuple):
    """Words of a passage as they stand there, and their first character and one past the last."""

    words: str
    start: int
    end: int


class Passage:
    """A text in which words are looked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, words: str) -> Span | None:
        """Return where words stand: as they are, else by their letters and digits alone, not within other words."""
        if (start := self._text.find(words)) >= 0 and words:
            return Span(words, start, start + len(words))
        wanted, _ = _letters(words)
        letters, places = self._folded
        start = letters.find(wanted) if wanted else -1
        while start >= 0:
            first, last = places[start], places[start + len(wanted) - 1] + 1
            if self._is_whole(first, last):
                return Span(self._text[first:last], first, last)
            start = letters.find(wanted, start + 1)
        return None

    def _is_whole(self, first: int, last: int) -> bool:
        """Say whether no number goes on before or after: `12` does not stand in `123`."""
        text = self._text
        before, after = text[max(0, first - 1) : first], text[last : last + 1]
        return not (before.isdigit() and text[first].isdigit()) and not (after.isdigit() and text[last - 1].isdigit())

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _letters(self._text)


def _letters(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text, folded, and the place of each."""
    kept, places = [], []
    for place, character in enumerate(text):
        folded = unicodedata.normalize("NFKC", character).casefold()
        for one in folded:
            if not _LEFT_OUT.match(one):
                kept.append(one)
                places.append(place)
    return "".join(kept), places
