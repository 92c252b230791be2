"""Marks in a text on its way through mammoth and HTML: numbers of list items, and places for text read elsewhere.

They are noncharacters of Unicode, which XML allows and no text has.
"""

import re
from collections.abc import Sequence

_BEGIN, _END, _PLACE, _PLACED = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_MARKS = re.compile(f"[{_BEGIN}{_END}{_PLACE}{_PLACED}]")
_LABEL = re.compile(f"{_BEGIN}([^{_END}]*){_END}[ \t]*")
_PLACES = re.compile(f"{_PLACE}(\\d{{1,6}}){_PLACED}")


def without_marks(text: str) -> str:
    """Return a text without the characters that marks are made of."""
    return _MARKS.sub("", text)


def label(number: str) -> str:
    """Return the mark of a paragraph's number."""
    return f"{_BEGIN}{number}{_END}"


def split_label(text: str) -> tuple[str, str]:
    """Return the number at the beginning of a text, "" if there is none, and the rest."""
    found = _LABEL.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def write_labels(text: str) -> str:
    """Return a text with its numbers in place of their marks."""
    return _LABEL.sub(r"\1 ", text) if _BEGIN in text else text


def place(number: int) -> str:
    """Return the mark of a place for a text."""
    return f"{_PLACE}{number}{_PLACED}"


def fill_places(markdown: str, texts: Sequence[str]) -> str:
    """Return Markdown with texts in their places: blocks on lines of their own, one line in a table."""
    if _PLACE not in markdown:
        return markdown
    return "\n".join(_fill(line, texts) for line in markdown.split("\n"))


def _fill(line: str, texts: Sequence[str]) -> str:
    in_table = line.startswith("|")

    def write(found: re.Match[str]) -> str:
        text = texts[int(found[1])] if int(found[1]) < len(texts) else ""
        return _one_line(text) if in_table else text

    return _PLACES.sub(write, line) if _PLACE in line else line


def _one_line(markdown: str) -> str:
    """Return Markdown for a cell, its tables as in cells of `soup_tables`."""
    lines = [line.strip() for line in markdown.splitlines() if line.strip("|- ")]
    cells = ["; ".join(map(str.strip, line.strip("|").split("|"))).strip("; ") for line in lines if line[0] == "|"]
    return " ".join([*(line for line in lines if line[0] != "|"), " / ".join(cells)]).strip().replace("|", r"\|")
