"""Text that others wrote, made safe to be shown as Markdown: nothing in it becomes a link, or is fetched."""

import re

_BREAK = "\u200b"
"""A zero-width space: around it nothing is an address any more, and all reads as before."""

_ADDRESSES = re.compile(r"(?<=\w)(?=://)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@\w)", re.IGNORECASE)
_MARK = re.compile(r"[*_\[\]|~$^{}&<>\\`#!]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows it as it is, in a paragraph or a cell of a table."""
    return _MARK.sub(lambda mark: _ENTITIES.get(mark[0], f"\\{mark[0]}"), _ADDRESSES.sub(_BREAK, text))
