"""Tables as Markdown, and the tables of delimited text."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile, groupby, islice, zip_longest

from lightrag_dagster.core.text.sanitise import with_characters
from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.plain.escapes import with_json

_DELIMITERS = ",;\t|"
_DIVIDED = re.compile(rf'[{_DELIMITERS}"]')
_DECIMAL = re.compile(r"[^\w,]*(?:\d[\d.' ]*)?\d,\d+[^\d,]*")
_SAID = re.compile(r"sep=([^\r\n\"])\r?\n")
_ESCAPED_QUOTE = re.compile(r'\\"[^",;\t|\r\n]')
_SAMPLE_ROWS = 20
_MOST_TITLES = 20  # lines
_NUMBER = re.compile(r"[\W_]*\d")
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
    """Read comma-, semicolon-, tab- or bar-separated values; text that is not a table is kept as it is.

    Titles above the names of the columns become paragraphs above the table. Several tables below one another stay such.
    """
    text, note = decode(data)
    try:
        rows = _rows(text)
    except csv.Error:
        return Content(text, note=note)
    if "&" in text:
        rows = [[*map(with_characters, row)] for row in rows]
    if "\\" in text:
        rows = [[*map(with_json, row)] for row in rows]
    return Content("\n\n".join(filter(None, chain(*map(_read, _parts(rows))))), note=note)


def _read(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the titles of a table, and the table."""
    count = _titles(rows)
    return [*map(_title, rows[:count]), markdown_table(rows[count:])]


def _parts(rows: Iterable[list[str]]) -> list[list[list[str]]]:
    """Return the rows of each table with its titles: below a blank line, names above numbers begin another one."""
    parts, loose, is_begun = [list[list[str]]()], list[list[str]](), False
    for _, group in groupby(rows, key=any):
        block = list(group)
        if all(_used(row) <= 1 for row in block):
            loose += block
            continue
        if _is_table(block):
            parts += [[]] if is_begun else []
            is_begun = True
        parts[-1] += loose + block
        loose = []
    parts[-1] += loose
    return parts


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row has only words, and a column below it only numbers."""
    names, *below = rows
    if not below or not all(names) or len(names) < max(map(_used, below)) or any(map(_NUMBER.match, names)):
        return False
    return any(all(map(_NUMBER.match, column)) for column in zip_longest(*below, fillvalue=""))


def _rows(text: str) -> list[list[str]]:
    csv.field_size_limit(_MAX_CELL)
    said = _SAID.match(text)  # for Excel
    text = text[said.end() :] if said else text
    if _ESCAPED_QUOTE.search(text):  # as by Spark and MySQL, which do not write them twice
        text = text.replace(r"\"", '""')
    mark = said[1] if said else _delimiter(text)
    try:
        return list(_reader(text, mark, strict=True))
    except csv.Error:
        lines = [line.rstrip("\r").split(mark) for line in text.rstrip().split("\n")]
        # Quotation marks may be signs, as of inches, and hold no lines together.
        return lines if len({*map(len, lines)}) == 1 else list(_reader(text, mark))


def _reader(text: str, mark: str, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True, strict=strict)


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows above the names of the columns.

    They have fewer cells than the names, and only one, or begin with `#`, or are followed by a blank line.
    """
    used = [_used(row) for row in rows[: 2 * _MOST_TITLES]]
    first = next((place for place, count in enumerate(used) if count > 1), 0)
    blanks = [place for place, count in enumerate(used) if count == 0 and place > first]
    remarks = next((place for place in range(first, len(used)) if not _is_remark(rows[place])), first)
    for count in sorted({first, remarks, *(place + 1 for place in blanks)}, reverse=True):
        names = next((place for place in range(count, len(used)) if used[place]), 0)
        above = used[:names]
        if (
            0 < names <= _MOST_TITLES
            and max(above) < used[names]
            and not all(map(_NUMBER.match, filter(None, rows[names])))
            and used[names] >= max(used[names:])
        ):
            return names
    return 0


def _is_remark(row: Sequence[str]) -> bool:
    return not any(row) or row[0].startswith("#")


def _title(row: Sequence[str]) -> str:
    """Return a row above a table as a paragraph; its `#` would make it a heading."""
    return " ".join(", ".join(cell.strip() for cell in row if cell.strip()).lstrip("#").split())


def _delimiter(text: str) -> str:
    """Return the delimiter that gives the first rows, or those of tables, the most columns; a comma if none does.

    A line without any of them is a title or a remark. Another one goes before a comma that only numbers have, and so
    does none if these stand alone below such a line.
    """
    sample = text[:_MAX_CELL]
    lines = [*filter(_DIVIDED.search, io.StringIO(sample, newline=""))]
    divided = "".join(lines)
    is_column = len(lines) > 1 and not sample.startswith(lines[0]) and all(map(_DECIMAL.fullmatch, lines))

    def rows(mark: str) -> list[list[str]]:
        return list(islice(filter(None, _reader(divided, mark)), _MOST_TITLES + _SAMPLE_ROWS))

    def columns(mark: str) -> tuple[int, ...]:
        first = islice(map(len, filter(None, _reader(sample, mark))), _SAMPLE_ROWS)
        widths = [*map(len, rows(mark))]
        table = [*dropwhile((1).__eq__, [*dropwhile((1).__eq__, widths)][::-1])]
        return min(first, default=0), *(min(some) if len(some) > 1 else 0 for some in (widths, table))

    best, other = (max(marks, key=columns) for marks in (_DELIMITERS, _DELIMITERS[1:]))
    return other if best == "," and (is_column or _has_decimals(rows(other))) else best


def _has_decimals(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the commas below the names of a table are decimal ones."""
    cells = [cell for row in rows[1:] or rows if len(row) > 1 for cell in row if "," in cell]
    return bool(cells) and len(rows[0]) > 1 and all(map(_DECIMAL.fullmatch, cells))


def _used(row: Sequence[str]) -> int:
    return max((place for place, cell in enumerate(row, start=1) if cell), default=0)


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(row) + " |"
