"""Cleaning of text from outside."""

import html
import re

from lightrag_dagster.core.text.composed import composed

FORBIDDEN = re.compile(r"[\ud800-\udfff\ufffe\uffff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
"""Surrogates, U+FFFE, U+FFFF, and control characters except tab, line feed and carriage return."""

# Soft hyphens, spaces without width, marks of direction; joiners stay where letters or pictures need them.
_INVISIBLE = re.compile(
    r"[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    r"|(?<=[\u0000-\u058f])[\u200c\u200d]"
)
_BREAKS = str.maketrans("\x0b\x0c", "\n\n")  # vertical tabs and form feeds end lines and pages
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\r"})
_NONCHARACTERS = "\ufffe\uffff"


def sanitise(text: str) -> str:
    """Return the text stripped, with HTML entities resolved, without characters that stores refuse or nothing shows.

    Form feeds and vertical tabs become line breaks. Accents are composed with their letters (NFC): macOS and PDF write
    them apart, questions do not.
    """
    unescaped = visible(composed(html.unescape(text.strip())))
    return (unescaped if _is_clean(unescaped) else FORBIDDEN.sub("", unescaped.translate(_BREAKS))).strip()


def visible(text: str) -> str:
    """Return a text without the characters that only say where a line may break, or in which direction it runs."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _is_clean(text: str) -> bool:
    """Return True if a text has no forbidden character, in a tenth of the expression's time."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # surrogates
        return False
    return data == data.translate(None, _CONTROLS) and not any(one in text for one in _NONCHARACTERS)
