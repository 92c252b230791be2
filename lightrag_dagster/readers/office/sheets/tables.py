"""The tables among the cells of a worksheet, with titles above them and notes below as paragraphs.

A blank row ends a table only if names of columns follow: many tables have blank rows inside.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lightrag_dagster.readers.inline import no_heading
from lightrag_dagster.readers.office.sheets.cells import Area, Sheet
from lightrag_dagster.readers.plain.tables import markdown_table

_NUMBER = re.compile(r"[\W_]*\d")
_HIDDEN = "(hidden)"
_MOST_REPEATED = 100_000  # cells


class _TablePart(NamedTuple):
    """The rows of titles above a table, and the rows of the table; either may be missing."""

    titles: list[int]
    table: list[int]


def to_markdown(sheet: Sheet) -> list[str]:
    """Return the tables and paragraphs of a worksheet."""
    numbers = sorted(number for number, row in sheet.rows.items() if row)
    _repeat(sheet, numbers)
    if any(len(sheet.rows[number]) > 1 for number in numbers):
        found = list(_parts(sheet, numbers))
    else:
        found = [_TablePart([], numbers)]
    texts: list[str] = []
    for part in found:
        for number in part.titles:
            hidden = f" {_HIDDEN}" * (number in sheet.hidden_rows)
            texts += [f"{no_heading(text)}{hidden}" for text in sheet.rows[number].values()]
        texts.append(_table(sheet, part.table))
    return [text for text in texts if text]


def joined_table(rows: dict[int, dict[int, str]], joined: list[Area]) -> str:
    """Return the cells of a table of a text or slide, by row and column, with the values of joined ones repeated."""
    sheet = Sheet(rows, joined)
    numbers = sorted(rows)
    _repeat(sheet, numbers)
    return _table(sheet, numbers)


def _repeat(sheet: Sheet, numbers: Sequence[int]) -> None:
    """Write the value of joined cells into each of their rows and columns that has other cells.

    A cell over a whole row is a title, and stays one; so does one over columns in a form, which has more
    such cells than others.
    """
    areas = [area for area in sheet.joined if area.column in sheet.rows.get(area.row, ())]
    columns = sorted(set().union(*sheet.rows.values())) if areas else []
    left = _MOST_REPEATED
    is_form = 2 * sum(area.last_column > area.column for area in areas) > sum(map(len, sheet.rows.values()))
    for area in areas:
        first = sheet.rows[area.row]
        over = columns[bisect_left(columns, area.column) : bisect_right(columns, area.last_column)]
        if len(over) > 1 and (is_form or all(area.column <= column <= area.last_column for column in first)):
            over = [area.column]
        rows = numbers[bisect_left(numbers, area.row) : bisect_right(numbers, area.last_row)]
        left -= len(rows) * len(over)
        if left < 0:
            return
        for number in rows:
            for column in over:
                sheet.rows[number].setdefault(column, first[area.column])


def _parts(sheet: Sheet, numbers: Sequence[int]) -> Iterator[_TablePart]:
    part = _TablePart([], [])
    held: list[int] = []
    blocks = list(_blocks(numbers))
    for place, block in enumerate(blocks):
        single = next((n for n, number in enumerate(block) if len(sheet.rows[number]) > 1), len(block))
        titles, rows = [*held, *block[:single]], block[single:]
        is_last = place == len(blocks) - 1
        held = []
        if not rows and not is_last:
            held = titles
        elif _are_notes(sheet, titles, part.table) if not rows else part.table and _begins(sheet, rows, part.table):
            yield part
            part = _TablePart(titles, rows)
        elif part.table:
            part.table.extend(titles + rows)
        elif len(titles) > single or _are_titles(sheet, titles, rows):
            part = _TablePart(titles, rows)
        else:
            part = _TablePart([], block)
    yield part


def _blocks(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield the runs of rows without a blank row between them."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] > numbers[place - 1] + 1:
            yield list(numbers[start:place])
            start = place


def _begins(sheet: Sheet, rows: Sequence[int], table: Sequence[int]) -> bool:
    """Return True if rows after a blank one begin another table: with names, and other columns or numbers below."""
    names = sheet.rows[rows[0]]
    if not _are_names(names):
        return False
    known = set().union(*(sheet.rows[number] for number in table))
    below = [sheet.rows[number] for number in rows[1:]]
    return not known.issuperset(names) or any(_NUMBER.match(row.get(column, "")) for row in below for column in names)


def _are_notes(sheet: Sheet, rows: Sequence[int], table: Sequence[int]) -> bool:
    """Return True if rows of one cell at the end are notes on the table: texts where its rows begin, not values."""
    first = min((min(sheet.rows[number]) for number in table), default=0)
    return all(min(sheet.rows[number]) <= first and _are_names(sheet.rows[number]) for number in rows)


def _are_titles(sheet: Sheet, titles: Sequence[int], rows: Sequence[int]) -> bool:
    """Return True if rows of one cell are titles of the rows directly below: joined over them, or above their names."""
    wide = {area.row for area in sheet.joined if area.last_column > area.column}
    if wide.intersection(titles):
        return True
    names = sheet.rows[rows[0]]
    numeric = any(_NUMBER.match(cell) for number in rows[1:] for cell in sheet.rows[number].values())
    return _are_names(names) and (numeric or len(names) > 2)


def _are_names(row: dict[int, str]) -> bool:
    return not any(map(_NUMBER.match, row.values()))


def _table(sheet: Sheet, numbers: Sequence[int]) -> str:
    """Return rows as a table without empty columns, in which hidden rows and columns are marked."""
    if not numbers:
        return ""
    columns = sorted(set().union(*(sheet.rows[number] for number in numbers)))
    names, height = _names(sheet, numbers, columns)
    header = [
        f"{name} {_HIDDEN}".strip() if sheet.is_hidden(column) else name
        for name, column in zip(names, columns, strict=True)
    ]
    hidden = sheet.hidden_rows
    marks = [_HIDDEN if hidden.issuperset(numbers[:height]) else ""] if hidden.intersection(numbers) else []
    rows = [[*header, *marks]]
    for number in numbers[height:]:
        row = sheet.rows[number]
        rows.append([row.get(column, "") for column in columns] + [_HIDDEN] * (number in hidden))
    return markdown_table(rows)


def _names(sheet: Sheet, numbers: Sequence[int], columns: Sequence[int]) -> tuple[list[str], int]:
    """Return the names of columns, and the number of their rows: more than one below joined cells."""
    height = 1
    while height < len(numbers) - 1 and _goes_on(sheet, numbers[height - 1], numbers[height], columns[0]):
        height += 1
    rows = [sheet.rows[number] for number in numbers[:height]]
    return [" ".join(dict.fromkeys(row[column] for row in rows if column in row)) for column in columns], height


def _goes_on(sheet: Sheet, number: int, below: int, first: int) -> bool:
    """Return True if the names of columns go on in the row below, as `2023`, `2024` below `Sales`."""
    areas = [area for area in sheet.joined if area.row <= number <= area.last_row]
    if not any(area.last_column > area.column for area in areas):
        return False
    row = sheet.rows[below]
    return _are_names(row) or first not in row or any(area.last_row >= below for area in areas)
