"""Terms of a text: word stems, and characters and pairs of them in scripts without spaces."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import snowballstemmer

_LONGEST_WORD = 64
CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Range, for an expression, of characters of scripts without spaces."""

MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0971-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u1000-\u109f\u1780-\u17d3"
)
"""Range of accents and signs of vowels that stand after a letter of the same word; `\\w` leaves them out."""

_RUN = re.compile(rf"([{CJK}]+)|([^\W_{CJK}]+(?:[{MARKS}]+[^\W_{CJK}]*)*)")


class Term(NamedTuple):
    """A term of a text; `capital` if it was written with a capital letter."""

    text: str
    capital: bool


def terms(text: str) -> Iterator[Term]:
    """Yield the terms of a text in order, without stop words and single letters."""
    for cjk, word in _RUN.findall(text):
        if not word:
            yield from (Term(character, False) for character in cjk)
            yield from (Term(cjk[at : at + 2], False) for at in range(len(cjk) - 1))
        elif term := _term(word[:_LONGEST_WORD]):
            yield term


@cache
def stop_words() -> frozenset[str]:
    """Return the English and German words that carry no topic, in lower case."""
    return frozenset((files(__package__) / "stop_words.txt").read_text("utf-8").split())


@lru_cache(maxsize=1 << 17)
def _term(word: str) -> Term | None:
    """Return the term of a word as it is written, or None for a stop word or a single letter."""
    folded = word.casefold()
    if folded in stop_words() or (len(folded) == 1 and not folded.isdigit()):
        return None
    # The English rules serve every language here: they shorten a word the same way everywhere. A stemmer keeps
    # state while it works, so each call has its own, which threads cannot share.
    return Term(str(snowballstemmer.stemmer("english").stemWord(folded)), word[0].isupper())
