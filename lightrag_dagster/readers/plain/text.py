"""Plain text, and other files read as they are: data, settings, source code."""

import re

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import XML_ENCODING, decode

_FOR_TERMINALS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])|[^\n]\x08")
"""Sequences of ECMA-48, colours, moves and titles, as logs have them, and what printed manuals strike over."""


def read(data: bytes) -> Content:
    """Read text as it is, without colours for terminals."""
    text, note = decode(data)
    return Content(plain(text), note=note)


def read_xml(data: bytes) -> Content:
    """Read XML as it is, in the encoding that it declares; it is not parsed, so a file cannot be hostile."""
    declared = XML_ENCODING.match(data)
    text, note = decode(data, declared[1].decode() if declared else None)
    return Content(text, note=note)


def plain(text: str) -> str:
    """Return a text without sequences for terminals and printers."""
    return _FOR_TERMINALS.sub("", text) if "\x1b" in text or "\b" in text else text
