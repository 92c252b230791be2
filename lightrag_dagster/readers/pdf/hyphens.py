"""Words that are divided at the end of a line, whole again; a compound word keeps the hyphen that it has elsewhere."""

import re
from collections.abc import Sequence
from itertools import pairwise

_LONGEST = 64  # characters of a word
_MARK = re.compile("[\x02\ufffe](?:\r\n|\r|\n)?")  # PDFium's, in place of the hyphen
_FIRST = re.compile(r"[^\W_]*\Z")
_SECOND = re.compile(r"[^\W_]*")
_COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)+")


def with_whole_words(texts: Sequence[str]) -> list[str]:
    """Return the texts of a document without divided words.

    The hyphen of `well-known` is one of the word: the document has `well-known` elsewhere, and never `wellknown`.
    """
    if not any(map(_MARK.search, texts)):
        return list(texts)
    compound = {word.casefold() for text in texts for word in _pairs(text)}
    joined = {word.casefold() for text in texts for word in re.findall(r"[^\W_]+", text)} if compound else set[str]()

    def joined_by(found: re.Match[str]) -> str:
        text = found.string
        first, second = (
            _FIRST.search(text, max(0, found.start() - _LONGEST), found.start()),
            _SECOND.match(text, found.end()),
        )
        one, other = first[0] if first else "", second[0] if second else ""
        is_compound = f"{one}-{other}".casefold() in compound and f"{one}{other}".casefold() not in joined
        return "-" if is_compound else ""

    return [_MARK.sub(joined_by, text) for text in texts]


def without_marks(text: str) -> str:
    """Return the text of a page without divided words, for any meaning of its hyphens."""
    return _MARK.sub("", text)


def _pairs(text: str) -> list[str]:
    """Return the neighbouring parts of the compound words of a text: `state-of-the-art` has three pairs."""
    pairs = []
    for word in _COMPOUND.findall(text):
        parts = word.split("-")
        pairs += [f"{one}-{other}" for one, other in pairwise(parts)]
    return pairs
