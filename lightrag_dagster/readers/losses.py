"""Words of a file that its reader lost, by a comparison with the words that the file itself has.

The two ways to the words know nothing of each other: `FileFormat.words` takes all text that a file holds, wherever it
stands, and the reader takes what people see, in their order.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, filterfalse, islice
from typing import NamedTuple

from lightrag_dagster.core.text.sanitise import visible
from lightrag_dagster.core.text.terms import CJK

_EXAMPLE = 12  # words
# A reader may break lines between characters of scripts without spaces, and set digits apart from letters.
_WORD = re.compile(rf"[{CJK}]|[^\W\d_{CJK}]+|\d+")

_LETTERS, _DIGITS = (
    bytes(ord(one.lower()) if (one := chr(code)) in kept else 32 for code in range(256))
    for kept in (string.ascii_letters, string.digits)
)


class LostWords(NamedTuple):
    """The number of words of a file, of those that its text lacks, and the first of them as an example."""

    words: int = 0
    lost: int = 0
    example: str = ""


def find_losses(found: Iterable[str], read: Iterable[str]) -> LostWords:
    """Return the words of the texts `found` in a file that are not, as often, among those of the texts `read`."""
    texts = list(found)
    wanted, there = _count(texts), _count(read)
    missing = {word: count - there[word] for word, count in wanted.items() if count > there[word]}
    example = islice(_missing(texts, there, missing), min(_EXAMPLE, sum(missing.values())))
    return LostWords(wanted.total(), sum(missing.values()), " ".join(example))


def check_losses(
    words: Callable[[bytes], Iterable[str]] | None, data: bytes, read: Iterable[str]
) -> tuple[LostWords | None, str | None]:
    """Return what was lost of a file, by its words as its format finds them, or why that cannot be told."""
    try:
        return (find_losses(words(data), read) if words else None), None
    except Exception as error:  # parsers raise many kinds; the text is there
        return None, f"whether words of it are lost could not be checked ({type(error).__name__})"


def _count(texts: Iterable[str]) -> Counter[str]:
    return Counter(chain.from_iterable(map(_words, texts)))


def _missing(texts: Iterable[str], there: Counter[str], missing: Mapping[str, int]) -> Iterator[str]:
    """Yield the missing words of texts, in their order; the first ones of a word that is there less often are there."""
    for line in chain.from_iterable(map(str.splitlines, texts)):
        if missing.keys().isdisjoint(_words(line)):
            continue
        for word in filter(missing.__contains__, _WORD.findall(_in_one_spelling(line))):
            if there[word] <= 0:
                yield word
            there[word] -= 1


def _words(text: str) -> list[str]:
    """Return the words of a text in any order: those of ASCII alone are found in a fifth of the expression's time."""
    others = ""
    if not text.isascii():
        parts = text.split()
        text = " ".join(filter(str.isascii, parts))
        others = " ".join(filterfalse(str.isascii, parts))
    data = text.encode()
    plain = (data.translate(_LETTERS) + b" " + data.translate(_DIGITS)).decode().split()
    return plain + _WORD.findall(_in_one_spelling(others)) if others else plain


def _in_one_spelling(text: str) -> str:
    """Return a text regardless of width, case and composition."""
    return unicodedata.normalize("NFKC", visible(text)).casefold()
