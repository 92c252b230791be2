"""Tables of a parsed page before it becomes Markdown: joined cells, tables in cells, titles and several header rows.

They are those of Word documents and books; `tables` has those of web pages.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import zip_longest
from typing import Any

from lightrag_dagster.readers.html.spans import span

_MOST_PLACES = 50_000  # of a table with joined cells
_LONG = 400  # characters; a cell with more is a part of the page, and not repeated
_PARTS = ("thead", "tbody", "tfoot")
_CELLS = ("td", "th")

_Grid = Mapping[tuple[int, int], Any]


def tidy_soup_tables(soup: Any) -> None:
    """Make blocks of tables for layout; fill joined cells of others, and give them one header row, below a title."""
    for table in soup("table"):
        if table.name != "table":  # it was in a cell
            continue
        rows = _rows(table)
        inner = table("table")
        if max((len(_cells(row)) for row in rows), default=0) < 2 or (inner and _is_layout(rows, inner)):
            _unwrap(table, rows)
            continue
        for one in reversed(inner):
            _flatten(one)
        _tidy(soup, table, rows)


def _rows(table: Any) -> list[Any]:
    """Return the rows of a table, without those of tables in it."""
    parts = [table, *(one for one in table.children if one.name in _PARTS)]
    return [row for part in parts for row in part.children if row.name == "tr"]


def _cells(row: Any) -> list[Any]:
    return [cell for cell in row.children if cell.name in _CELLS]


def _is_layout(rows: Sequence[Any], inner: Sequence[Any]) -> bool:
    """Return True for a table with others in it, if it has one row, or if these have much text or others in them."""
    return len(rows) < 2 or any(len(one.get_text()) > _LONG or one.find("table") for one in inner)


def _unwrap(table: Any, rows: Sequence[Any]) -> None:
    """Make blocks of the cells of a table; tables in it stay."""
    for caption in table.find_all("caption", recursive=False):
        caption.name = "p"
    for cell in [cell for row in rows for cell in _cells(row)]:
        cell.name, cell.attrs = "div", {}
    for part in [*rows, *table.find_all(_PARTS, recursive=False)]:
        part.unwrap()
    table.name = "div"


def _flatten(table: Any) -> None:
    """Make one line of a table in a cell: semicolons between its cells, strokes between its rows."""
    rows = _rows(table)
    for number, row in enumerate(rows, start=1):
        cells = _cells(row)
        for place, cell in enumerate(cells, start=1):
            if place < len(cells) or number < len(rows):
                cell.insert_after("; " if place < len(cells) else " / ")
    for paragraph in table("p"):
        if paragraph.next_sibling is not None:
            paragraph.insert_after(" ")
        paragraph.unwrap()
    for element in (*table(["caption", *_PARTS, "tr", *_CELLS]), table):
        element.name, element.attrs = "span", {}
    table.insert_before(" ")
    table.insert_after(" ")


def _tidy(soup: Any, table: Any, rows: list[Any]) -> None:
    for caption in table.find_all("caption", recursive=False):
        caption.name = "p"
        table.insert_before(caption.extract())
    header = [row for row in rows if row.parent.name == "thead"]
    if any(span(cell, name) > 1 for row in rows for cell in _cells(row) for name in ("colspan", "rowspan")):
        grid = _grid(rows)
        width = 1 + max(place for _, place in grid)
        while len(rows) > 1 and _is_title(_cells(rows[0]), width):
            _move_up(table, rows.pop(0))
            grid = _grid(rows)
        header = [row for row in header if row in rows] or (rows[:2] if _has_two_headers(grid, width) else [])
        _fill(soup, rows, grid, width)
    if len(header) > 1:
        _join(header)


def _grid(rows: Sequence[Any]) -> _Grid:
    """Return the cell at each place, by row and column; joined cells are at several."""
    grid: dict[tuple[int, int], Any] = {}
    for number, row in enumerate(rows):
        place = 0
        for cell in _cells(row):
            while (number, place) in grid:
                place += 1
            columns = span(cell, "colspan")
            deep = min(span(cell, "rowspan"), len(rows) - number)
            if len(grid) + columns * deep > _MOST_PLACES:
                columns = deep = 1
            for down in range(deep):
                for right in range(columns):
                    grid.setdefault((number + down, place + right), cell)
            place += columns
    return grid


def _fill(soup: Any, rows: Sequence[Any], grid: _Grid, width: int) -> None:
    """Give each row a cell for each place, with the text of the one that is joined there.

    In a form, which has more joined cells than others, and in a row of one cell, a text is not repeated to the right.
    A row that has no cell of its own says nothing that the one above does not say.
    """
    cells = [cell for row in rows for cell in _cells(row)]
    is_form = sum(span(cell, "colspan") > 1 for cell in cells) * 2 > len(cells)
    owners = {id(cell): place for place, cell in reversed(list(grid.items()))}
    filled: dict[int, list[Any]] = {number: [] for number, row in enumerate(rows) if _cells(row)}
    for (number, place), cell in sorted(grid.items(), key=lambda one: one[0]):
        if number not in filled:
            continue
        if owners[id(cell)] == (number, place):
            filled[number].append(cell)
        else:
            is_below = place == owners[id(cell)][1]
            repeats = is_below or not (is_form or span(cell, "colspan") >= width)
            filled[number].append(_copy(soup, cell) if repeats else soup.new_tag(cell.name))
    for number, row in enumerate(rows):
        whole = [cell.extract() for cell in filled.get(number, ())]
        row.clear()  # of the line ends between the cells
        row.extend(whole)
        if not whole:
            row.decompose()
    for cell in cells:
        cell.attrs = {name: said for name, said in cell.attrs.items() if name not in ("colspan", "rowspan")}


def _copy(soup: Any, cell: Any) -> Any:
    if len(cell.get_text()) > _LONG:
        return soup.new_tag(cell.name)
    other = copy(cell)
    other.attrs = {}
    for image in other("img"):
        image.decompose()
    return other


def _is_title(cells: Sequence[Any], width: int) -> bool:
    """Return True for the cells of a row that are one, as wide as the table."""
    return width > 1 and bool(cells) and span(cells[0], "colspan") >= width and span(cells[0], "rowspan") == 1


def _move_up(table: Any, row: Any) -> None:
    """Make a paragraph above a table of its first row, a cell for all columns."""
    title = _cells(row)[0]
    title.name, title.attrs = "div", {}
    table.insert_before(title.extract())
    row.decompose()


def _has_two_headers(grid: _Grid, width: int) -> bool:
    """Return True if a cell of the first row has names of its columns below it, and all others go on down there."""
    above: list[Any] = [grid.get((0, place)) for place in range(width)]
    below: list[Any] = [grid.get((1, place)) for place in range(width)]
    if any(cell is None for cell in (*above, *below)) or max(row for row, _ in grid) < 2:
        return False
    pairs = list(zip(above, below, strict=True))
    goes_on = [one is other or not (one.get_text() + other.get_text()).strip() for one, other in pairs]
    others = [one for (one, _), goes in zip(pairs, goes_on, strict=True) if not goes]
    return any(goes_on) and bool(others) and all(span(one, "colspan") > 1 for one in others)


def _join(rows: Sequence[Any]) -> None:
    """Make one header row of several: the different texts of a column, one after the other."""
    for column in zip_longest(*map(_cells, rows)):
        texts = [" ".join(cell.get_text().split()) for cell in column if cell is not None]
        if column[0] is None:
            rows[0].append(next(cell for cell in column if cell is not None))
        else:
            column[0].string = " ".join(dict.fromkeys(filter(None, texts)))
    for row in rows[1:]:
        row.decompose()
