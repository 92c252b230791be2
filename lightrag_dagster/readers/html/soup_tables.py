"""Tables of a parsed page before it becomes Markdown: joined cells, tables in cells, titles and several header rows.

They are those of Word documents and books; `tables` has those of web pages.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import zip_longest
from typing import Any

_MOST_COLUMNS = 1000
_MOST_PLACES = 50_000  # of a table with joined cells
_LONG = 400  # characters; a cell with more is a part of the page, and not repeated
_PARTS = ("thead", "tbody", "tfoot")
_CELLS = ("td", "th")


def tidy_soup_tables(soup: Any) -> None:
    """Make blocks of tables for layout; fill joined cells of others, and give them one header row, below a title."""
    for table in soup("table"):
        rows = _rows(table)
        inner = table("table")
        if max(map(len, rows), default=0) < 2 or (inner and _is_layout(rows, inner)):
            _unwrap(table, rows)
            continue
        for one in reversed(inner):
            _flatten(one)
        _tidy(soup, table, rows)


def _rows(table: Any) -> list[list[Any]]:
    """Return the cells of the rows of a table, without those of tables in it."""
    parts = [table, *(one for one in table.children if one.name in _PARTS)]
    rows = [row for part in parts for row in part.children if row.name == "tr"]
    cells = [[cell for cell in row.children if cell.name in _CELLS] for row in rows]
    return [row for row in cells if row]


def _is_layout(rows: Sequence[Sequence[Any]], inner: Sequence[Any]) -> bool:
    """Return True for a table with others in it, if it has one row, or if these have much text or others in them."""
    return len(rows) < 2 or any(len(one.get_text()) > _LONG or one.find("table") for one in inner)


def _unwrap(table: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Make blocks of the cells of a table; tables in it stay."""
    for caption in table.find_all("caption", recursive=False):
        caption.name = "p"
    outer = [*(row[0].parent for row in rows), *table.find_all(_PARTS, recursive=False)]
    for cell in (cell for row in rows for cell in row):
        cell.name, cell.attrs = "div", {}
    for part in outer:
        part.unwrap()
    table.name = "div"


def _flatten(table: Any) -> None:
    """Make one line of a table in a cell: its cells between semicolons, its rows between bars that lean."""
    rows = _rows(table)
    for number, row in enumerate(rows, start=1):
        for place, cell in enumerate(row, start=1):
            if place < len(row):
                cell.insert_after("; ")
            elif number < len(rows):
                cell.insert_after(" / ")
    for element in (*table(["caption", *_PARTS, "tr", *_CELLS]), table):
        element.name = "span"
        element.attrs = {}
    table.insert_before(" ")
    table.insert_after(" ")


def _tidy(soup: Any, table: Any, rows: list[list[Any]]) -> None:
    for caption in table.find_all("caption", recursive=False):
        caption.name = "p"
        table.insert_before(caption.extract())
    if any(_span(cell, name) > 1 for row in rows for cell in row for name in ("colspan", "rowspan")):
        grid = _grid(rows)
        width = 1 + max(place for _, place in grid)
        while len(rows) > 1 and _is_title(rows[0][0], width):
            _move_up(table, rows.pop(0)[0])
            grid = _grid(rows)
        _fill(soup, rows, grid, width)
    header = _rows_of_header(table)
    if len(header) > 1:
        _join(header)


def _span(cell: Any, name: str) -> int:
    said = str(cell.get(name) or "1")
    return max(1, min(int(said), _MOST_COLUMNS)) if said.isdecimal() and len(said) < 10 else 1


def _grid(rows: Sequence[Sequence[Any]]) -> dict[tuple[int, int], Any]:
    """Return the cell at each place, by row and column; joined cells are at several."""
    grid: dict[tuple[int, int], Any] = {}
    for number, row in enumerate(rows):
        place = 0
        for cell in row:
            while (number, place) in grid:
                place += 1
            columns, deep = _span(cell, "colspan"), min(_span(cell, "rowspan"), len(rows) - number)
            if len(grid) + columns * deep > _MOST_PLACES:
                columns = deep = 1
            for down in range(deep):
                for right in range(columns):
                    grid.setdefault((number + down, place + right), cell)
            place += columns
    return grid


def _fill(soup: Any, rows: Sequence[Sequence[Any]], grid: Mapping[tuple[int, int], Any], width: int) -> None:
    """Give each row a cell for each place, with the text of the one that is joined there.

    In a form, which has more joined cells than others, and in a row of one cell, a text is not repeated to the right.
    """
    cells = [cell for row in rows for cell in row]
    is_form = sum(_span(cell, "colspan") > 1 for cell in cells) * 2 > len(cells)
    owners = {id(cell): place for place, cell in reversed(list(grid.items()))}
    filled: dict[int, list[Any]] = {number: [] for number in range(len(rows))}
    for (number, place), cell in sorted(grid.items(), key=lambda one: one[0]):
        is_right = place > owners[id(cell)][1]
        if owners[id(cell)] == (number, place):
            filled[number].append(cell)
        else:
            repeats = not is_right or not (is_form or _span(cell, "colspan") >= width)
            filled[number].append(_copy(soup, cell) if repeats else soup.new_tag(cell.name))
    for number, row in enumerate(rows):
        element = row[0].parent
        for cell in filled[number]:
            element.append(cell.extract())
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


def _is_title(cell: Any, width: int) -> bool:
    """Return True for a cell that is as wide as its table, and no higher than its row."""
    return width > 1 and _span(cell, "colspan") >= width and _span(cell, "rowspan") == 1


def _move_up(table: Any, title: Any) -> None:
    """Make a paragraph above a table of a cell that is its first row."""
    row = title.parent
    title.name, title.attrs = "div", {}
    table.insert_before(title.extract())
    row.decompose()


def _rows_of_header(table: Any) -> list[Any]:
    head = table.find("thead", recursive=False)
    return head.find_all("tr", recursive=False) if head is not None else []


def _join(rows: Sequence[Any]) -> None:
    """Make one header row of several: the different texts of a column, one after the other."""
    cells = [row(_CELLS) for row in rows]
    for column in zip_longest(*cells):
        texts = [" ".join(cell.get_text().split()) for cell in column if cell is not None]
        if column[0] is not None:
            column[0].string = " ".join(dict.fromkeys(filter(None, texts)))
        elif any(texts):
            rows[0].append(next(cell for cell in column if cell is not None))
    for row in rows[1:]:
        row.decompose()
