"""Words that are divided at the end of a line, whole again; a compound word keeps the hyphen that it has elsewhere."""

import re
from collections.abc import Sequence
from itertools import pairwise

_LONGEST = 64  # characters of a word or an address
DIVIDED = re.compile(r"[\x02\ufffe](?:\r\n|\r|\n)?|(?<=[^\W_])\u2010\r?\n(?=[^\W_])")  # PDFium's, or browsers' hyphen
_BETWEEN = {"and", "bis", "bzw", "oder", "sowie", "und"}  # as in `Vor- und Nachteile`
_ADDRESS = re.compile(r"(?:\w://|www\.)\S*\Z")
_FIRST = re.compile(r"[^\W_]*\Z")
_SECOND = re.compile(r"[^\W_]*")
_COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)+")


def with_whole_words(texts: Sequence[str]) -> list[str]:
    """Return the texts of a document without divided words.

    The hyphen of `well-known` is one of the word: the document has `well-known` elsewhere, and never `wellknown`. So is
    that of `Coca-Cola`, `F-16` and `X-rays`, where no word is divided, and one in an address.
    """
    if not any(map(DIVIDED.search, texts)):
        return list(texts)
    compound = {word.casefold() for text in texts for word in _pairs(text)}
    joined = {word.casefold() for text in texts for word in re.findall(r"[^\W_]+", text)}

    def joined_by(found: re.Match[str]) -> str:
        text, begin = found.string, max(0, found.start() - _LONGEST)
        first = _FIRST.search(text, begin, found.start())
        second = _SECOND.match(text, found.end())
        one = first[0] if first else ""
        other = second[0] if second else ""
        if other in _BETWEEN:
            return "- "
        is_compound = f"{one}-{other}".casefold() in compound or _is_apart(one, other)
        is_compound = is_compound or bool(_ADDRESS.search(text, begin, found.start()))
        return "-" if is_compound and f"{one}{other}".casefold() not in joined else ""

    return [DIVIDED.sub(joined_by, text) for text in texts]


def _is_apart(one: str, other: str) -> bool:
    """Return True if no word is divided between two parts: behind a letter, before a digit or another capital."""
    is_shouted = one.isupper() and other.isupper()
    return bool(other) and (len(one) == 1 or other[0].isdigit() or (other[0].isupper() and not is_shouted))


def without_marks(text: str) -> str:
    """Return the text of a page without divided words, for any meaning of its hyphens."""
    return DIVIDED.sub("", text)


def _pairs(text: str) -> list[str]:
    """Return the neighbouring parts of the compound words of a text: `state-of-the-art` has three pairs."""
    pairs = []
    for word in _COMPOUND.findall(text):
        parts = word.split("-")
        pairs += [f"{one}-{other}" for one, other in pairwise(parts)]
    return pairs
