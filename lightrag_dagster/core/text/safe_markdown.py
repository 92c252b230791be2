"""Text that others wrote, made safe to be shown as Markdown: nothing in it becomes a link, or is fetched.

A viewer fetches the image of a Markdown text as soon as it is shown, so that the author of a document could see who
looks at it, and when.
"""

import re
from collections.abc import Iterable, Sequence

_BREAK = "\u200b"
"""A zero-width space: around it nothing is an address or a tag any more, and all reads as before."""

# Viewers turn addresses into links; some do so after undoing every escape.
_ADDRESSES = re.compile(r"(?<=\w)(?=://)|(?<![\w:/]/)(?<=/)(?=/\w)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@\w)", re.IGNORECASE)
_LINKS = re.compile(r"(?<=\])(?=\()|(?<=<)(?=[A-Za-z/!?])")
_DEFINITIONS = re.compile(r"(?<![^\r\n])([ \t>*+\d.)-]*\[(?:[^\[\]\\]|\\.)*\])(?=:)", re.DOTALL)

_MARK = re.compile(r"[*_\[\]|~$^{}&<>\\`]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "&#92;", "`": "&#96;"}
_DOT = re.compile(r"\.(?=[^\W\d])")
_START = re.compile(r"(?<![^\r\n])(?:(?P<space>[ \t])|(?P<number>\d+(?=[.)]))|(?=[#+=:-]))")


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows it as it is: no image, link, HTML, heading, list, table or emphasis.

    It can be used in a paragraph, a list item or a heading and, on one line, in a cell of a table. Its lines stay
    lines, which a viewer joins.
    """
    marked = _MARK.sub(lambda mark: _ENTITIES.get(mark[0], f"\\{mark[0]}"), _ADDRESSES.sub(_BREAK, text))
    return _START.sub(_started, _DOT.sub(r"\\.", marked))


def without_links(text: str) -> str:
    """Return Markdown that keeps its formatting, and in which nothing links or loads.

    Images, links, HTML and addresses are shown as they are written, with a zero-width space in them.
    """
    return _DEFINITIONS.sub(rf"\1{_BREAK}", _LINKS.sub(_BREAK, _ADDRESSES.sub(_BREAK, text)))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a heading and rows, whose cells are Markdown on one line, as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in (columns, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]])


def cell(value: object, most: int | None = None) -> str:
    """Return a cell that shows any value as it is, cut after `most` characters; None is shown as nothing."""
    text = " ".join(str("" if value is None else value).split())
    # Escaped, since the UI fetches the images that a document links to, and takes <SEP> for a tag.
    return escaped(text if most is None or len(text) <= most else text[: most - 1] + "…")


def _started(start: re.Match[str]) -> str:
    """Return the start of a line, escaped so that no block begins with it."""
    if start["space"]:
        return f"&#{ord(start['space'])};"
    return f"{start['number'] or ''}\\"
