"""Tables of PDF pages: the characters in each cell of a grid of lines, or of texts in columns."""

import ctypes
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from lightrag_dagster.readers.pdf.characters import PageCharacters
from lightrag_dagster.readers.pdf.columns import Columns, find_columns, find_ruled, is_table, rows_of
from lightrag_dagster.readers.plain.tables import markdown_table

_NEAR = 2.0  # points; lines nearer to each other are one, as the edges of a thin rectangle are
_SHORT = 4.0  # points; shorter lines are not rules
_MOST_EDGES = 10_000  # of a page; with more it is a drawing, and so with more than
_MOST_LINES = 1_000  # that edges are parts of


class RuledTable(NamedTuple):
    """A table as Markdown, and the numbers of the characters in it."""

    markdown: str
    characters: frozenset[int]


class _Edge(NamedTuple):
    """A line along an axis: its place across, its start and its end. Points."""

    place: float
    begin: float
    end: float


class _Grid(NamedTuple):
    """The lines of a table: their places from left to right and from the bottom up, and the lines themselves."""

    columns: list[float]
    rows: list[float]
    vertical: list[_Edge]
    level: list[_Edge]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.rows) - 1, len(self.columns) - 1

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Return row, from the top, and column of a point; in a cell that spans several, the first of them."""
        column, row = bisect_right(self.columns, x) - 1, bisect_right(self.rows, y) - 1
        if not (0 <= column < len(self.columns) - 1 and 0 <= row < len(self.rows) - 1):
            return None
        while column and not _is_parted(self.vertical, self.columns[column], y):
            column -= 1
        while row < len(self.rows) - 2 and not _is_parted(self.level, self.rows[row + 1], x):
            row += 1
        return len(self.rows) - 2 - row, column


def _is_parted(edges: list[_Edge], place: float, along: float) -> bool:
    """Return True if one of the lines at a place parts the cells beside it there."""
    return any(abs(edge.place - place) <= _NEAR and edge.begin <= along <= edge.end for edge in edges)


def find_tables(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, characters: PageCharacters
) -> list[RuledTable]:
    """Return the tables of a page that have text in at least two rows and two columns."""
    edges = list(_edges(page))
    rules = list(_merged(edge for is_vertical, edge in edges if not is_vertical))
    lines = rows_of(textpage)
    places: list[_Grid | Columns] = [
        *_grids(edges),
        *find_ruled(lines, rules[:_MOST_LINES]),
        *find_columns(lines),
    ]
    if not places:
        return []
    cells: list[dict[tuple[int, int], list[int]]] = [{} for _ in places]
    for number in range(textpage.count_chars()):
        x, y = characters.middle(number)
        for table, found in zip(places, cells, strict=True):
            if place := table.cell(x, y):
                found.setdefault(place, []).append(number)
    tables: list[RuledTable] = []
    taken: frozenset[int] = frozenset()
    for table, found in zip(places, cells, strict=True):
        rows, inside = _texts(table, found, characters)
        rows = _without_empty_columns(rows)
        # Boxes behind the lines of a paragraph have text in one column alone.
        if len(rows) < 2 or len(rows[0]) < 2 or (isinstance(table, _Grid) and _is_behind_words(found, characters)):
            continue
        if isinstance(table, _Grid) or (taken.isdisjoint(inside) and is_table(rows, is_ruled=table.is_ruled)):
            tables.append(RuledTable(markdown_table(rows), inside))
            taken |= inside
    return tables


def _is_behind_words(cells: dict[tuple[int, int], list[int]], characters: PageCharacters) -> bool:
    """Return True for boxes behind words, as of code in a sentence: beside half of the rows, the sentence continues."""
    inside = {number for numbers in cells.values() for number in numbers}
    crossed = sum(after is not None and after not in inside for after in map(characters.after, inside))
    return 2 * crossed >= len({row for row, _ in cells})


def _texts(
    table: _Grid | Columns, cells: dict[tuple[int, int], list[int]], characters: PageCharacters
) -> tuple[list[list[str]], frozenset[int]]:
    """Return the text of each cell, and the numbers of all characters in them."""
    height, width = table.shape
    rows = [[""] * width for _ in range(height)]
    inside: set[int] = set()
    for (row, column), numbers in cells.items():
        # A character between two of a cell, such as a space that PDFium adds, has no place of its own.
        runs, start = [], numbers[0]
        for one, after in zip(numbers, [*numbers[1:], None], strict=True):
            if after is None or after - one > 3:
                runs.append(range(start, one + 1))
                start = after or 0
        inside.update(*runs)
        rows[row][column] = " ".join(map(characters.text, runs))
    return rows, frozenset(inside)


def _without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with text and, of these, the columns with text; lines of decoration make others."""
    rows = [row for row in rows if any(map(str.strip, row))]
    used = [any(map(str.strip, column)) for column in zip(*rows, strict=True)]
    return [list(compress(row, used)) for row in rows]


def _edges(page: pypdfium2.PdfPage) -> Iterator[tuple[bool, _Edge]]:
    """Yield the lines along an axis on a page, each with True if it is vertical; none for a drawing."""
    found = []
    matrix = pdfium.FS_MATRIX()
    for number in range(pdfium.FPDFPage_CountObjects(page)):
        item = pdfium.FPDFPage_GetObject(page, number)
        if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        pdfium.FPDFPageObj_GetMatrix(item, ctypes.byref(matrix))
        across, down = (matrix.a, matrix.c, matrix.e), (matrix.b, matrix.d, matrix.f)
        for (x0, y0), (x1, y1) in _segments(item):
            a, b = (x * x0 + y * y0 + move for x, y, move in (across, down))
            c, d = (x * x1 + y * y1 + move for x, y, move in (across, down))
            if abs(a - c) <= _NEAR / 4 and abs(b - d) >= _SHORT:
                found.append((True, _Edge((a + c) / 2, min(b, d) - _NEAR, max(b, d) + _NEAR)))
            elif abs(b - d) <= _NEAR / 4 and abs(a - c) >= _SHORT:
                found.append((False, _Edge((b + d) / 2, min(a, c) - _NEAR, max(a, c) + _NEAR)))
            if len(found) > _MOST_EDGES:
                return
    yield from found


_Point = tuple[float, float]


def _segments(path: object) -> Iterator[tuple[_Point, _Point]]:
    """Yield the straight lines of a path, including those that close it."""
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = last = (0.0, 0.0)
    for number in range(min(pdfium.FPDFPath_CountSegments(path), _MOST_EDGES)):
        segment = pdfium.FPDFPath_GetPathSegment(path, number)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        kind, point = pdfium.FPDFPathSegment_GetType(segment), (x.value, y.value)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            yield last, point
        last = point
        if pdfium.FPDFPathSegment_GetClose(segment):
            yield last, begin


def _grids(edges: list[tuple[bool, _Edge]]) -> list[_Grid]:
    """Return the grids of lines that cross or touch one another."""
    lines = {kind: list(_merged(edge for is_vertical, edge in edges if is_vertical is kind)) for kind in (True, False)}
    left = [(kind, edge) for kind, found in lines.items() for edge in found]
    grids = []
    while left and sum(map(len, lines.values())) <= _MOST_LINES:
        group, left = left[:1], left[1:]
        for one in group:  # the list grows in this loop
            far: list[tuple[bool, _Edge]] = []
            for other in left:
                (group if _cross(one, other) else far).append(other)
            left = far
        vertical = [edge for is_vertical, edge in group if is_vertical]
        columns = _places(vertical)
        level = [edge for is_vertical, edge in group if not is_vertical]
        rows = _places(level)
        if len(columns) > 2 and len(rows) > 2:
            grids.append(_Grid(columns, rows, vertical, level))
    return grids


def _merged(edges: Iterable[_Edge]) -> Iterator[_Edge]:
    """Join the parts of lines that are drawn cell by cell."""
    lines: list[list[_Edge]] = []
    for edge in sorted(edges):
        if lines and edge.place - lines[-1][0].place <= _NEAR:
            lines[-1].append(edge)
        else:
            lines.append([edge])
    for line in lines:
        place, begin, end = line[0].place, *min((edge.begin, edge.end) for edge in line)
        for edge in sorted(line, key=lambda one: one.begin):
            if edge.begin > end:
                yield _Edge(place, begin, end)
                begin = edge.begin
            end = max(end, edge.end)
        yield _Edge(place, begin, end)


def _cross(one: tuple[bool, _Edge], other: tuple[bool, _Edge]) -> bool:
    (is_vertical, edge), (other_is_vertical, across) = one, other
    if is_vertical == other_is_vertical:
        return False
    return edge.begin <= across.place <= edge.end and across.begin <= edge.place <= across.end


def _places(edges: Iterable[_Edge]) -> list[float]:
    """Return the different places of lines."""
    places: list[float] = []
    for place in sorted(edge.place for edge in edges):
        if not places or place - places[-1] > _NEAR:
            places.append(place)
    return places
