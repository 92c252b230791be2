"""Tables of PDF pages without lines: rows of short texts below one another in columns.

The rule is strict, since a false table spoils prose: at least three rows with the same number of cells, and no other
rows of cells above and below; wide gaps between cells; one edge or the middle of each column in line; at most one
column of long texts; and numbers in one.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import pypdfium2

_MOST_BOXES = 2_000  # of a page; with more it is a drawing
_GAP = 1.0  # in heights of a line, between two cells
_NEAR = 0.35  # in heights of a line, by which cells of a column may be out of line
_NEXT = 2.6  # in heights of a line, from one row to the next at the most
_SAME = 1.1  # in distances of its rows: a line this near below a first cell belongs to it
_LEAST_ROWS = 3
_LONG = 24  # characters; more is prose
_NUMBERS = 2 / 3  # of the cells below the first, in one of the columns
_NUMBER = re.compile(r"\W*\d[\d.,:/\s–-]*\s?\S{0,4}")
_MARK = re.compile(r"[^\w\s]{1,2}|\(?\w{1,3}[.)]")


class _Box(NamedTuple):
    """The box of a text, from the lower left corner of the page. Points."""

    left: float
    bottom: float
    right: float
    top: float


class _Row(NamedTuple):
    """Texts next to each other, from left to right, with their middle and their height. Points."""

    middle: float
    height: float
    cells: Sequence[_Box]


_Bounds = list[list[tuple[float, float]]]
"""The lowest and highest left edge, right edge and middle of each column's cells. Points."""


class Columns:
    """The place of a table, with the box of each cell's text."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.shape = len(rows), len(rows[0].cells)
        self._rows = rows
        self._middles = [-row.middle for row in rows]

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Return row and column of a point."""
        below = bisect_left(self._middles, -y)
        for number in range(max(0, below - 1), min(below + 1, len(self._rows))):
            for column, box in enumerate(self._rows[number].cells):
                if box.left <= x <= box.right and box.bottom <= y <= box.top:
                    return number, column
        return None


def find_columns(textpage: pypdfium2.PdfTextPage) -> Iterator[Columns]:
    """Yield candidates for tables by their layout; `is_table` decides by their content."""
    rows = _rows(textpage)
    start = 0
    while start < len(rows):
        end, bounds = start + 1, _bounds(rows[start])
        while end < len(rows) and _goes_on(rows[end - 1], rows[end]):
            bounds = _wider(bounds, rows[end])
            if not _in_line(bounds, rows[start].height):
                break
            end += 1
        if end - start >= _LEAST_ROWS and _is_whole(rows, start, end):
            yield Columns(rows[start:end])
        start = end


def is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return True for a table; False for texts in columns, a list with marks set apart, and boxes in a row."""
    columns = list(zip(*rows, strict=True))
    long = sum(median(map(len, column)) > _LONG for column in columns)
    if long > 1 or not all(map(all, rows)) or all(map(_MARK.fullmatch, columns[0])):
        return False
    numbers = (sum(_NUMBER.fullmatch(cell) is not None for cell in column[1:]) for column in columns[1:])
    return max(numbers) >= _NUMBERS * (len(rows) - 1)


def _rows(textpage: pypdfium2.PdfTextPage) -> list[_Row]:
    """Return the rows of a page from the top; none for a drawing."""
    count = textpage.count_rects()
    if count > _MOST_BOXES:
        return []
    boxes = [box for box in (_Box(*textpage.get_rect(number)) for number in range(count)) if box.top > box.bottom]
    rows: list[list[_Box]] = []
    for box in sorted(boxes, key=_middle, reverse=True):
        if rows and _middle(rows[-1][0]) - _middle(box) < min(map(_height, (rows[-1][0], box))) / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [_row(sorted(row)) for row in rows]


def _row(boxes: Sequence[_Box]) -> _Row:
    """Join the boxes without a gap between them."""
    height = max(map(_height, boxes))
    cells = [boxes[0]]
    for box in boxes[1:]:
        last = cells[-1]
        if box.left - last.right > _GAP * height:
            cells.append(box)
        else:
            cells[-1] = _Box(
                last.left, min(last.bottom, box.bottom), max(last.right, box.right), max(last.top, box.top)
            )
    return _Row(_middle(boxes[0]), height, cells)


def _height(box: _Box) -> float:
    return box.top - box.bottom


def _middle(box: _Box) -> float:
    return (box.top + box.bottom) / 2


def _goes_on(above: _Row, row: _Row) -> bool:
    near = above.middle - row.middle <= _NEXT * max(above.height, row.height)
    return near and len(above.cells) == len(row.cells) > 1


def _is_whole(rows: Sequence[_Row], start: int, end: int) -> bool:
    """Return True if a table ends with a full row, not one with empty cells or cells of several lines."""
    step = min(above.middle - below.middle for above, below in pairwise(rows[start:end]))
    beside = [(rows[start - 1], rows[start])] if start else []
    beside += [(rows[end], rows[end - 1])] if end < len(rows) else []
    for other, row in beside:
        away = abs(other.middle - row.middle)
        if len(other.cells) > 1 and away <= _NEXT * max(other.height, row.height):
            return False
        if away <= _SAME * step and other.cells[0].right <= row.cells[1].left:
            return False
    return True


def _edges(box: _Box) -> tuple[float, float, float]:
    return box.left, box.right, (box.left + box.right) / 2


def _bounds(row: _Row) -> _Bounds:
    return [[(edge, edge) for edge in _edges(box)] for box in row.cells]


def _wider(bounds: _Bounds, row: _Row) -> _Bounds:
    """Return the bounds widened by a row."""
    return [
        [(min(low, edge), max(high, edge)) for (low, high), edge in zip(column, _edges(box), strict=True)]
        for column, box in zip(bounds, row.cells, strict=True)
    ]


def _in_line(bounds: _Bounds, height: float) -> bool:
    """Return True if the cells of every column have their left or right edges or their middles in line."""
    return all(any(high - low <= 2 * _NEAR * height for low, high in column) for column in bounds)
