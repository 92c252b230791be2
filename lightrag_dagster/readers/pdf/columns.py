"""Tables of PDF pages without lines: rows of short texts below one another in columns.

The rule is strict, since a false table spoils prose: at least three rows with the same number of cells, and no other
rows of cells above and below; wide gaps between cells; one edge or the middle of each column in line; at most one
column of long texts; and numbers in one. Between horizontal rules of one extent, as statements of accounts have them,
cells may be empty.
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
_THIN = 0.4, 0.8  # of the height of a line: a lower box is a dash or the like, and as far from its middle at the most
_ALIKE = 4.0  # points, by which the ends of the rules of a table may differ
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


_EMPTY = _Box(0.0, 0.0, -1.0, -1.0)
_Rule = tuple[float, float, float]
"""The height of a horizontal line, its start and its end. Points."""
_Bounds = list[list[tuple[float, float]]]
"""The lowest and highest left edge, right edge and middle of each column's cells. Points."""


class Columns:
    """The place of a table, with the box of each cell's text."""

    def __init__(self, rows: Sequence[_Row], *, is_ruled: bool = False) -> None:
        self.shape = len(rows), len(rows[0].cells)
        self.is_ruled = is_ruled
        self._rows = rows
        self._middles = [-row.middle for row in rows]

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Return row and column of a point."""
        below = bisect_left(self._middles, -y)
        for number in range(max(0, below - 2), min(below + 2, len(self._rows))):
            for column, box in enumerate(self._rows[number].cells):
                if box.left <= x <= box.right and box.bottom <= y <= box.top:
                    return number, column
        return None


def find_columns(rows: Sequence[_Row]) -> Iterator[Columns]:
    """Yield candidates for tables by their layout; `is_table` decides by their content."""
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


def find_ruled(rows: Sequence[_Row], rules: Sequence[_Rule]) -> Iterator[Columns]:
    """Yield candidates for tables between horizontal rules of one extent; a row beside the outer ones may be theirs."""
    groups: list[list[_Rule]] = []
    for rule in rules:
        alike = (group for group in groups if max(abs(group[0][at] - rule[at]) for at in (1, 2)) <= _ALIKE)
        if (group := next(alike, None)) is None:
            groups.append(group := [])
        group.append(rule)
    for group in (one for one in groups if len(one) > 1):
        _, begin, end = group[0]
        cut = (row._replace(cells=[box for box in row.cells if begin < _edges(box)[2] < end]) for row in rows)
        for run in _runs([row for row in cut if row.cells], (end - begin) / 2):
            reach = _NEXT * max(row.height for row in run)
            near = [place for place, *_ in group if run[-1].middle - reach < place < run[0].middle + reach]
            if len(near) > 1:
                yield from _between(_joined(run), max(near), min(near), reach)


def _runs(rows: Sequence[_Row], widest: float) -> Iterator[list[_Row]]:
    """Yield rows below one another, without prose."""
    run: list[_Row] = []
    for row in rows:
        is_prose = len(row.cells) == 1 and row.cells[0].right - row.cells[0].left > widest
        if run and (is_prose or run[-1].middle - row.middle > 2 * _NEXT * row.height):
            yield run
            run = []
        if not is_prose:
            run.append(row)
    if run:
        yield run


def _between(run: Sequence[_Row], top: float, bottom: float, reach: float) -> Iterator[Columns]:
    """Yield the table of rows between two rules, if each of their cells is in one column."""
    inner = [number for number, row in enumerate(run) if bottom < row.middle < top and len(row.cells) > 1]
    if not inner:
        return
    spans: list[tuple[float, float]] = []
    for box in sorted(box for number in inner for box in run[number].cells):
        if spans and box.left <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], box.right)
        else:
            spans.append((box.left, box.right))
    rows = [_placed(row, spans) for row in run[inner[0] : inner[-1] + 1]]
    above, below = run[max(0, inner[0] - 1) : inner[0]], run[inner[-1] + 1 : inner[-1] + 2]
    around = [
        [
            found
            for row in outer
            if abs(row.middle - rule) < reach and len(row.cells) > 1 and (found := _placed(row, spans))
        ]
        for outer, rule in ((above, top), (below, bottom))
    ]
    table = [*around[0], *rows, *around[1]]
    full = [row for row in table if row and sum(box is not _EMPTY for box in row.cells) > 1]
    if all(rows) and len(full) >= max(_LEAST_ROWS, len(table) / 2) and len(spans) >= _LEAST_ROWS:
        yield Columns([row for row in table if row], is_ruled=True)


def _joined(rows: Sequence[_Row]) -> list[_Row]:
    """Return rows with those nearer than lines are as one: a cell of two lines beside one of a line."""
    groups: list[list[_Row]] = []
    for row in rows:
        if groups and groups[-1][-1].middle - row.middle < max(groups[-1][-1].height, row.height):
            groups[-1].append(row)
        else:
            groups.append([row])
    return [_row(sorted(box for row in group for box in row.cells)) if len(group) > 1 else group[0] for group in groups]


def _placed(row: _Row, spans: Sequence[tuple[float, float]]) -> _Row | None:
    """Return a row with its cells in their columns; None if one is in several, as only a cell of its own may be."""
    cells = [_EMPTY] * len(spans)
    for box in row.cells:
        over = [place for place, (left, right) in enumerate(spans) if box.left <= right and box.right >= left]
        if not over or cells[over[0]] is not _EMPTY or (len(over) > 1 and len(row.cells) > 1):
            return None
        cells[over[0]] = box
    return row._replace(cells=cells)


def is_table(rows: Sequence[Sequence[str]], *, is_ruled: bool = False) -> bool:
    """Return True for a table; False for texts in columns, a list with marks set apart, and boxes in a row."""
    columns = [[cell for cell in column if cell or not is_ruled] for column in zip(*rows, strict=True)]
    long = sum(median(map(len, column)) > _LONG for column in columns)
    if long > 1 or not all(map(all, columns)) or all(map(_MARK.fullmatch, columns[0])):
        return False
    return any(_has_numbers(column[1:]) for column in columns[1:])


def _has_numbers(cells: Sequence[str]) -> bool:
    return sum(_NUMBER.fullmatch(cell) is not None for cell in cells) >= max(1, _NUMBERS * len(cells))


def rows_of(textpage: pypdfium2.PdfTextPage) -> list[_Row]:
    """Return the rows of a page from the top; none for a drawing."""
    count = textpage.count_rects()
    if count > _MOST_BOXES:
        return []
    boxes = [box for box in (_Box(*textpage.get_rect(number)) for number in range(count)) if box.top > box.bottom]
    rows: list[list[_Box]] = []
    tallest = _EMPTY
    for box in sorted(boxes, key=_middle, reverse=True):
        if rows and abs(_middle(tallest) - _middle(box)) < _reach(_height(tallest), _height(box)):
            rows[-1].append(box)
            tallest = max(tallest, box, key=_height)
        else:
            tallest = box
            rows.append([box])
    return [_row(sorted(row)) for row in rows]


def _reach(one: float, other: float) -> float:
    """Return how far apart the middles of two texts of a row may be; a dash or a line below has little height."""
    lower, higher = sorted((one, other))
    return _THIN[1] * higher if lower < _THIN[0] * higher else lower / 2


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
