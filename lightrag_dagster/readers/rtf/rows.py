"""Rows of a Rich Text table: the right edges of their cells say which columns a cell is over."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from lightrag_dagster.readers.office.sheets.cells import Area
from lightrag_dagster.readers.office.sheets.tables import joined_table
from lightrag_dagster.readers.plain.tables import markdown_table

ON_LEFT, ABOVE = "clmrg", "clvmrg"
"""Marks of a cell that continues the one on its left, or the one above."""

_MOST_COLUMNS = 200
_NEAR = 60  # twentieths of a point; programs round the edges of a column


@dataclass
class RtfRow:
    """A row: its cells, and the right edges and marks that its definition has."""

    cells: list[str] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)


def table_of(rows: Sequence[RtfRow]) -> str:
    """Return rows as a Markdown table, with the values of joined cells repeated where they hold."""
    columns = _columns(rows)
    is_even = all(len(row.edges) == len(columns) and not any(row.marks) for row in rows)
    has_edges = all(len(row.edges) >= len(row.cells) and row.edges == sorted(row.edges) for row in rows)
    if is_even or not has_edges or len(columns) > _MOST_COLUMNS:
        return markdown_table(row.cells for row in rows)
    cells: dict[int, dict[int, str]] = {}
    joined: dict[tuple[int, int], Area] = {}
    above: dict[int, tuple[int, int]] = {}  # the area of each first column of the last row
    for place, row in enumerate(rows):
        cells[place], here, first, key = {}, dict[int, tuple[int, int]](), 0, (place, 0)
        for text, edge, mark in zip(row.cells, row.edges, row.marks, strict=False):
            last = bisect_right(columns, edge) - 1
            if mark == ON_LEFT and first:
                joined[key] = joined[key]._replace(last_column=last)
            elif mark == ABOVE and first in above:
                key = above[first]
                joined[key] = joined[key]._replace(last_row=place)
            else:
                key = (place, first)
                joined[key] = Area(place, first, place, last)
            here[first] = key
            if written := " ".join(text.split()):
                cells[place][first] = written
            first = last + 1
        above = here
    return joined_table({place: row for place, row in cells.items() if row}, list(joined.values()))


def _columns(rows: Sequence[RtfRow]) -> list[int]:
    """Return the right edges of the columns, of those that are near the first one."""
    columns: list[int] = []
    for edge in sorted({edge for row in rows for edge in row.edges}):
        if not columns or edge > columns[-1] + _NEAR:
            columns.append(edge)
    return columns
