"""Cells of a table that are joined over rows or columns: their value is repeated where it holds."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from lxml import html as lxml_html

MOST_COLUMNS = 1000
_MOST_COPIES = 20_000  # of a table; a hostile one asks for billions
_MOST_REPEATED = 200  # characters; a longer text is no name of rows or columns

Row = Sequence[lxml_html.HtmlElement]


def spread(rows: Sequence[Row]) -> list[list[lxml_html.HtmlElement]]:
    """Return the rows with a cell for each place that a joined cell covers; a cell over a whole row is not repeated."""
    below: dict[int, tuple[lxml_html.HtmlElement, int]] = {}  # the cell that covers a column, and its rows from here
    width = min(max((sum(span(cell, "colspan") for cell in row) for row in rows), default=0), MOST_COLUMNS)
    left = _MOST_COPIES
    spread_rows = []
    for row in rows:
        whole = len(row) == 1 and span(row[0], "colspan") >= width
        covered = list(_columns(iter(row), below, whole)) if left > 0 else [(cell, False) for cell in row]
        left -= sum(is_copy for _, is_copy in covered)
        cells = [_copy(cell) if is_copy else cell for cell, is_copy in covered]
        parent = row[0].getparent()
        for cell in cells:
            parent.append(cell)
        spread_rows.append(cells)
    for cell in (cell for row in spread_rows for cell in row):
        for name in ("rowspan", "colspan"):
            cell.attrib.pop(name, None)
    return spread_rows


def _columns(
    own: Iterator[lxml_html.HtmlElement], below: dict[int, tuple[lxml_html.HtmlElement, int]], whole: bool
) -> Iterator[tuple[lxml_html.HtmlElement, bool]]:
    """Yield the cell of each column of a row, and whether it is a copy; `below` is brought up to the next row."""
    column = 0
    while column < MOST_COLUMNS:
        if column in below:
            cell, rows = below.pop(column)
            if rows > 1:
                below[column] = cell, rows - 1
            yield cell, True
            column += 1
            continue
        found = next(own, None)
        if found is None:
            if not any(place > column for place in below):
                return
            yield lxml_html.Element("td"), False
            column += 1
            continue
        rows = span(found, "rowspan")
        columns = 1 if whole else span(found, "colspan")
        for place in range(column, min(column + columns, MOST_COLUMNS)):
            if rows > 1:
                below[place] = found, rows - 1
            yield found, place > column
        column += columns


def span(cell: Any, name: str) -> int:
    """Return over how many rows or columns a cell goes."""
    value = cell.get(name) or "1"
    return max(1, min(int(value), MOST_COLUMNS)) if value.isdecimal() and len(value) < 6 else 1


def _copy(cell: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    copied = deepcopy(cell) if len(cell.text_content()) <= _MOST_REPEATED else lxml_html.Element(cell.tag)
    copied.tail = None
    return copied
