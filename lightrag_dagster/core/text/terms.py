"""Terms of a text: word stems, parts of compound identifiers, and characters and pairs in scripts without spaces."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import snowballstemmer

from lightrag_dagster.core.text.composed import as_typed

_LONGEST_WORD = 64
CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Range, for an expression, of characters of scripts without spaces."""

MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0971-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u1000-\u109f\u1780-\u17d3"
)
"""Range of accents and signs of vowels that stand after a letter of the same word; `\\w` leaves them out."""

_UNSPACED = CJK + r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # also Thai, Lao, Burmese and Khmer
_RUN = re.compile(rf"([{_UNSPACED}]+)|([^\W_{_UNSPACED}]+(?:[{MARKS}]+[^\W_{_UNSPACED}]*)*)")
_WIDTHS = re.compile(r"[\uff01-\uffdc]+")
"""Full-width and half-width forms; of other compatibility forms, such as `™`, NFKC makes letters of their word."""

_CASES = re.compile("(?<=l)(?=u)|(?<=u)(?=ul)|(?<=d)(?=u(?!ul|$))")
_FIGURES = re.compile("(?<=[lu])(?=d)|(?<=d)(?=[lu])")
"""Edges of parts, in a word of which each upper-case letter is `u`, each digit `d` and all else `l`.

Digits end a part before a capital, as in *S3Bucket* and *Q3FY22*, but not before a single one, as in *3DModel*.
"""

_SHORTEST_PARTS = 3
"""Characters of the parts of a word, on average: shorter ones are those of a hash or a key, and say nothing."""

_SCRIPTS = {
    "russian": re.compile(r"[\u0400-\u052f]"),
    "arabic": re.compile(r"[\u0600-\u06ff]"),
    "greek": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"),
    "hindi": re.compile(r"[\u0900-\u097f]"),
}
"""Rules of stems, by the script of a word's first letter."""


class Term(NamedTuple):
    """A term of a text; `capital` if it was written with a capital letter."""

    text: str
    capital: bool


def terms(text: str, *, figures: bool = False) -> Iterator[Term]:
    """Yield the terms of a text in order, without stop words and single letters.

    The parts of a word in mixed case follow it, such as those of *DiffExecutor*; with `figures` also its letters and
    digits apart, such as *FY* and *2022*.
    """
    for cjk, word in _RUN.findall(_in_one_width(text)):
        if word:
            yield from _terms(word[:_LONGEST_WORD], figures)
        else:
            yield from (Term(character, False) for character in cjk)
            yield from (Term(cjk[at : at + 2], False) for at in range(len(cjk) - 1))


def text_terms(text: str) -> list[str]:
    """Return the terms of a text in order: word stems and parts, figures apart, and pairs in scripts without spaces."""
    found: list[str] = []  # an object for each term would take as long again
    for cjk, word in _RUN.findall(_in_one_width(text)):
        found += _texts(word[:_LONGEST_WORD]) if word else [one.text for one in terms(cjk)]
    return found


def _in_one_width(text: str) -> str:
    return text if text.isascii() else _WIDTHS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)


@lru_cache(maxsize=1 << 17)
def _texts(word: str) -> tuple[str, ...]:
    return tuple(one.text for one in _terms(word, True))


@cache
def stop_words() -> frozenset[str]:
    """Return the English and German words that carry no topic, in lower case."""
    return frozenset((files(__package__) / "stop_words.txt").read_text("utf-8").split())


@lru_cache(maxsize=1 << 17)
def _terms(word: str, figures: bool) -> tuple[Term, ...]:
    """Return the term of a word as it is written, and those of its parts; none for a stop word or a single letter."""
    pieces = [word]
    if not (word.isalpha() and word[1:].islower()):
        for part in _parts(word, _CASES):
            pieces += [part, *(_parts(part, _FIGURES) if figures else [])]
    return tuple(_term(one) for one in dict.fromkeys(pieces) if _carries(one.casefold()))


def _parts(word: str, edges: re.Pattern[str]) -> list[str]:
    """Return the parts of a word between edges, or the word if they are too short."""
    shape = "".join("u" if one.isupper() else "d" if one.isdigit() else "l" for one in word)
    cuts = [found.start() for found in edges.finditer(shape)]
    if len(cuts) * _SHORTEST_PARTS >= len(word):
        return [word]
    return [word[first:end] for first, end in pairwise([0, *cuts, len(word)])]


def _carries(folded: str) -> bool:
    return folded not in stop_words() and (len(folded) > 1 or folded.isdigit())


def _term(word: str) -> Term:
    folded = as_typed(word.casefold())
    # The English rules serve all of Latin script: they shorten a word the same way everywhere. A stemmer keeps state
    # while it works, so each call has its own, which threads cannot share.
    rules = next((rules for rules, script in _SCRIPTS.items() if script.match(folded)), "english")
    return Term(str(snowballstemmer.stemmer(rules).stemWord(folded)), word[0].isupper())
