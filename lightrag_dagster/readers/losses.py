"""Words of a file that its reader lost, by a comparison with the words that the file itself has.

The two ways to the words know nothing of each other: `FileFormat.words` takes all text that a file holds, wherever it
stands, and the reader takes what people see, in their order.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from lightrag_dagster.core.text.sanitise import visible
from lightrag_dagster.core.text.terms import CJK

_EXAMPLE = 12  # words
# A reader may break lines between characters of scripts without spaces, and set digits apart from letters.
_WORD = re.compile(rf"[{CJK}]|[^\W\d_{CJK}]+|\d+")


class LostWords(NamedTuple):
    """The number of words of a file, of those that its text lacks, and the first of them as an example."""

    words: int = 0
    lost: int = 0
    example: str = ""


def find_losses(found: Iterable[str], read: Iterable[str]) -> LostWords:
    """Return the words of the texts `found` in a file that are not, as often, among those of the texts `read`."""
    there, wanted = _count(read), list[str]()
    for text in found:
        wanted += _words(text)
    missing = Counter(wanted) - there
    lost = []
    for word in wanted if missing else ():
        if there[word] > 0:
            there[word] -= 1
        else:
            lost.append(word)
    return LostWords(len(wanted), len(lost), " ".join(lost[:_EXAMPLE]))


def _count(texts: Iterable[str]) -> Counter[str]:
    counts = Counter[str]()
    for text in texts:
        counts.update(_words(text))
    return counts


def _words(text: str) -> list[str]:
    """Return the words of a text in one spelling, regardless of width, case and composition."""
    return _WORD.findall(unicodedata.normalize("NFKC", visible(text)).casefold())
