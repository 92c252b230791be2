"""Cleaning of text from outside."""

import html
import re
from html.entities import html5

from lightrag_dagster.core.text.composed import composed

FORBIDDEN = re.compile(r"[\ud800-\udfff\ufffe\uffff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
"""Surrogates, U+FFFE, U+FFFF, and control characters except tab, line feed and carriage return."""

# Soft hyphens, spaces without width, marks of direction; joiners stay where letters or pictures need them.
_INVISIBLE = re.compile(
    r"[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    r"|(?<=[\u0000-\u058f])[\u200c\u200d]"
)
_REFERENCE = re.compile(r"&(#\d{1,7};|#[xX][\da-fA-F]{1,6};|[A-Za-z][A-Za-z\d]{1,31};)", re.ASCII)
_BREAKS = str.maketrans("\x0b\x0c", "\n\n")  # vertical tabs and form feeds end lines and pages
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\r"})


def sanitise(text: str) -> str:
    """Return the text stripped, without characters that stores refuse or nothing shows.

    Form feeds and vertical tabs become line breaks. Accents are composed with their letters (NFC): macOS and PDF write
    them apart, questions do not.
    """
    shown = visible(composed(text.strip()))
    return (shown if _is_clean(shown) else FORBIDDEN.sub("", shown.translate(_BREAKS))).strip()


def with_characters(text: str) -> str:
    """Return a text with characters for HTML's references to them, which end with a semicolon.

    Without one, browsers and `html.unescape` find one where a word begins: `?lang=en&region=eu` would be `®ion=eu`.
    """
    return _REFERENCE.sub(
        lambda found: html.unescape(found[0]) if found[1][0] == "#" or found[1] in html5 else found[0], text
    )


def visible(text: str) -> str:
    """Return a text without the characters that only say where a line may break, or in which direction it runs."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _is_clean(text: str) -> bool:
    """Return True if a text has no forbidden character, in a tenth of the expression's time."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # surrogates
        return False
    return data == data.translate(None, _CONTROLS) and not any(one in text for one in "\ufffe\uffff")
