"""Cleaning of text from outside."""

import html
import re

FORBIDDEN = re.compile(r"[\ud800-\udfff\ufffe\uffff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
"""Surrogates, the noncharacters U+FFFE and U+FFFF, and control characters but tab, line feed and carriage return."""


def sanitise(text: str) -> str:
    """Return the text stripped, with HTML entities resolved and characters removed that no store accepts."""
    return FORBIDDEN.sub("", html.unescape(text.strip())).strip()
