"""Words that are divided at the end of a line, whole again; a compound word keeps the hyphen that it has elsewhere."""

import re
from collections.abc import Sequence
from itertools import pairwise

_MARK = "[\x02\ufffe]"  # PDFium's, in place of the hyphen
_DIVIDED = re.compile(rf"([^\W_]*){_MARK}(?:\r\n|\r|\n)?([^\W_]*)")
_LEFT = re.compile(_MARK)
_COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)+")


def with_whole_words(texts: Sequence[str]) -> list[str]:
    """Return the texts of a document without divided words.

    The hyphen of `well-known` is one of the word: the document has `well-known` elsewhere, and never `wellknown`.
    """
    if not any(map(_LEFT.search, texts)):
        return list(texts)
    compound = {word.casefold() for text in texts for word in _pairs(text)}
    joined = {word.casefold() for text in texts for word in re.findall(r"[^\W_]+", text)} if compound else set[str]()

    def whole(found: re.Match[str]) -> str:
        first, second = found[1], found[2]
        is_compound = f"{first}-{second}".casefold() in compound and f"{first}{second}".casefold() not in joined
        return f"{first}-{second}" if is_compound else f"{first}{second}"

    return [_LEFT.sub("", _DIVIDED.sub(whole, text)) for text in texts]


def without_marks(text: str) -> str:
    """Return the text of a page without divided words, whatever its hyphens mean."""
    return _DIVIDED.sub(r"\1\2", text)


def _pairs(text: str) -> list[str]:
    """Return the neighbouring parts of the compound words of a text: `state-of-the-art` has three pairs."""
    pairs = []
    for word in _COMPOUND.findall(text):
        parts = word.split("-")
        pairs += [f"{one}-{other}" for one, other in pairwise(parts)]
    return pairs
