"""Plain text, and other files read as they are: data, settings, source code."""

import re

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode

_FOR_TERMINALS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
"""Sequences of ECMA-48: colours, moves and titles, as logs have them."""


def read(data: bytes) -> Content:
    """Read text as it is, without colours for terminals."""
    text, note = decode(data)
    return Content(plain(text), note=note)


def plain(text: str) -> str:
    """Return a text without sequences for terminals."""
    return _FOR_TERMINALS.sub("", text) if "\x1b" in text else text
