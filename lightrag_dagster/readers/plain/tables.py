"""Tables as Markdown, and the tables of delimited text."""

import csv
import io
from collections.abc import Iterable, Sequence

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
_MAX_CELL = 1_000_000  # characters; the library's own limit is 131,072


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first one as its header; rows and columns that are empty are left out.

    Line breaks in a cell become spaces. Short rows stay short, so that a table is never much longer than its cells.
    """
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    if not cells:
        return ""
    first = min(next(place for place, cell in enumerate(row) if cell) for row in cells)
    cells = [row[first:] for row in cells]
    width = max(_used(row) for row in cells)
    header = cells[0][:width] + [""] * (width - len(cells[0]))
    lines = [_line(header), "|" + " --- |" * width]
    lines += (_line(row[: _used(row)]) for row in cells[1:])
    return "\n".join(lines)


def read(data: bytes) -> Content:
    """Read comma-, semicolon-, tab- or bar-separated values; text that is not a table is kept as it is."""
    text, note = decode(data)
    try:
        return Content(markdown_table(_rows(text)), note=note)
    except csv.Error:
        return Content(text, note=note)


def _rows(text: str) -> Iterable[list[str]]:
    csv.field_size_limit(_MAX_CELL)
    return csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))


def _delimiter(text: str) -> str:
    """Return the delimiter that gives the first rows the most columns in common; a comma if there is none."""

    def columns(delimiter: str) -> int:
        lines = csv.reader(io.StringIO(text[:_MAX_CELL], newline=""), delimiter=delimiter)
        return min((len(row) for _, row in zip(range(_SAMPLE_ROWS), filter(None, lines), strict=False)), default=0)

    return max(_DELIMITERS, key=columns)


def _used(row: Sequence[str]) -> int:
    return max((place for place, cell in enumerate(row, start=1) if cell), default=0)


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(row) + " |"
