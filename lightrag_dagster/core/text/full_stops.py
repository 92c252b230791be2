"""Full stops that end no sentence: of abbreviations, initials and ordinals."""

import re
from importlib.resources import files

from lightrag_dagster.core.text.terms import stop_words

_LISTS = [
    frozenset(words.split()[1:]) for words in (files(__package__) / "full_stops.txt").read_text("utf-8").split("\n\n")
]
MONTHS, ABBREVIATIONS, _OUTSIDE_NAMES, _BEFORE_NUMBERS, _AFTER_ORDINALS = _LISTS
"""Months; words after whose stop a sentence ends only before a stop word, of which names have the first."""

_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]|[\w-]+str")
_LAST_WORD = re.compile(r"[^\s(\"“]+$")
_FIRST_WORD = re.compile(r"[\s\"“„«'(]*([^\W_]+)?")


def ends_sentence(text: str, start: int, end: int) -> bool:
    """Return True if a sentence ends with a stop and its quotes: not before a small letter, nor after `Dr` or `U.S`."""
    if text[start] != "." or "\n\n" in text[start:end]:
        return True
    following = _FIRST_WORD.match(text, end, end + 60)
    first = (following and following[1]) or ""
    if first[:1].islower():
        return False
    before = _LAST_WORD.search(text, max(0, start - 30), start)
    if text[start:end].rstrip() != "." or not before:
        return True
    word, then = before[0].casefold(), first.casefold()
    if word.isdigit():
        return len(word) > 2 or then not in MONTHS | _AFTER_ORDINALS
    abbreviated = ABBREVIATIONS | _OUTSIDE_NAMES | (_BEFORE_NUMBERS if then[:1].isdigit() else set())
    return not (_INITIALS.fullmatch(word) or word in abbreviated) or then in stop_words()
