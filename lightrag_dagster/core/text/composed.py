"""Accents: macOS and PDF write them apart from their letters, in texts and names of files; people compose them."""

import unicodedata
from collections.abc import Collection


def composed(text: str) -> str:
    """Return a text with accents composed with their letters (NFC)."""
    return unicodedata.normalize("NFC", text)


def stored_name(typed: str, stored: Collection[str]) -> str:
    """Return the stored name that a person typed: the same, or else one that differs only in composition.

    Without one, it is returned as typed.
    """
    if typed in stored:
        return typed
    wanted = composed(typed)
    return min((one for one in stored if composed(one) == wanted), default=typed)
