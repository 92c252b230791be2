"""Accents: macOS and PDF write them apart from their letters, in texts and names of files; people compose them."""

import re
import unicodedata
from collections.abc import Collection

# Of Cyrillic only what marks the stress: other marks make another letter, such as й. Points of Hebrew are vowels.
_LEFT_OUT = re.compile(r"(?<![\u0400-\u04ff])[\u0300-\u036f]|[\u0300\u0301\u0591-\u05bd\u05bf-\u05c7]")
_PLAIN = str.maketrans({"ı": "i", "đ": "d", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "ک": "ك", "ی": "ي"})


def composed(text: str) -> str:
    """Return a text with accents composed with their letters (NFC)."""
    return unicodedata.normalize("NFC", text)


def as_typed(folded: str) -> str:
    """Return a text in lower case as it is typed on any keyboard: without accents and Hebrew points, digits as 0 to 9.

    Persian letters become the Arabic ones that look like them.
    """
    plain = composed(_LEFT_OUT.sub("", unicodedata.normalize("NFD", folded))).translate(_PLAIN)
    return plain if plain.isascii() else "".join(str(unicodedata.decimal(one, one)) for one in plain)


def stored_name(typed: str, stored: Collection[str]) -> str:
    """Return the stored name that a person typed: the same, or else one that differs only in composition.

    Without one, it is returned as typed.
    """
    if typed in stored:
        return typed
    wanted = composed(typed)
    return min((one for one in stored if composed(one) == wanted), default=typed)
