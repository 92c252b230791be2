"""Boundaries that are found by characters: separators, sentences, words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from lightrag_dagster.core.text.full_stops import ends_sentence
from lightrag_dagster.stages.chunking.splitter import Boundaries

# After a full stop only before a word that does not begin in lower case, and not after an initial or abbreviation.
_SENTENCE = re.compile(r"(?:(?<![.!?…])[.!?…]+[\"'”’»)\]]{0,4}(?=\s)|[。！？｡]+[」』”’）]{0,4})\s*|\n\s*\n\s*")
_WORD = re.compile(r"\s+")


def after(text: str, separator: str) -> Boundaries:
    """Return the boundaries after each occurrence of a separator, and after a run of them."""
    return _behind(text, re.compile(f"(?:{re.escape(separator)})+"))


def words(text: str) -> Boundaries:
    """Return the start of each word after white space."""
    return _behind(text, _WORD)


def sentences(text: str) -> Boundaries:
    """Return the start of each sentence: after `.!?…` and white space, after `。！？`, and after a blank line."""
    return _behind(text, _SENTENCE, only=ends_sentence)


def sentences_or_words(text: str) -> Boundaries:
    """Return the starts of sentences, or of words if there are none."""
    first, second = sentences(text), words(text)
    return lambda start, end: first(start, end) or second(start, end)


def listed(offsets: Sequence[int]) -> Boundaries:
    """Return boundaries that are known beforehand, ascending."""
    return lambda start, end: offsets[bisect_right(offsets, start) : bisect_left(offsets, end)]


def outside(inner: Boundaries, regions: Sequence[tuple[int, int]]) -> Boundaries:
    """Return boundaries without those in some regions, which are spans in order."""
    starts = [start for start, _ in regions]

    def is_outside(offset: int) -> bool:
        at = bisect_right(starts, offset) - 1
        return at < 0 or offset >= regions[at][1]

    return lambda start, end: [offset for offset in inner(start, end) if is_outside(offset)]


def _behind(text: str, pattern: re.Pattern[str], only: Callable[[str, int, int], bool] | None = None) -> Boundaries:
    """Return the boundaries behind each match of a pattern, `only` where a function of text, start and end says so."""

    def found(start: int, end: int) -> Sequence[int]:
        return [
            at.end()
            for at in pattern.finditer(text, start, end)
            if start < at.end() < end and (not only or only(text, at.start(), at.end()))
        ]

    return found
