"""The cells of one worksheet, as texts, by a single pass over its XML.

Libraries give numbers without their formats, or need twenty times as long; and each stores a rectangle of all cells, so
that one stray cell in the last row is a gigabyte.
"""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from xml.parsers import expat

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.inline import struck, write_struck
from lightrag_dagster.readers.office.archive import DAMAGED
from lightrag_dagster.readers.office.sheets.number_formats import general

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d+)(?::([A-Z]{1,3})(\d+))?")
_YES = ("1", "true")
_EXACT_DIGITS = 16

Format = Callable[[float], str] | None


class Area(NamedTuple):
    """A rectangle of cells, with its last row and column, all from 0."""

    row: int
    column: int
    last_row: int
    last_column: int


@dataclass
class Sheet:
    """The cells of a worksheet by row and column, from 0; cells without text are not there."""

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    joined: list[Area] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[range] = field(default_factory=list)
    without_value: list[str] = field(default_factory=list)

    def is_hidden(self, column: int) -> bool:
        """Return True if a column is hidden."""
        return any(column in columns for columns in self.hidden_columns)


def one_line(text: str) -> str:
    """Return a text of a cell on one line, with the characters that workbooks escape."""
    if "_x" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return " ".join(text.split())


def area_of(reference: str) -> Area | None:
    """Return the cells of a reference such as `B2` or `B2:C4`; None for another text."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return None
    row, column = int(found[2]) - 1, column_of(found[1])
    return Area(row, column, int(found[4]) - 1, column_of(found[3])) if found[3] else Area(row, column, row, column)


@lru_cache
def column_of(letters: str) -> int:
    """Return the number of a column, from 0."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def read_cells(data: bytes, strings: Sequence[str], formats: Sequence[Format], struck_styles: Set[str]) -> Sheet:
    """Return the cells of a worksheet, by the shared strings, number formats and struck styles of its workbook.

    Raises:
        UnreadableError: the XML is damaged.
    """
    reader = _Reader(strings, formats, struck_styles)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UnreadableError(DAMAGED) from error
    return reader.sheet


class _Reader:
    """A collector of rows from the events of a parser."""

    def __init__(self, strings: Sequence[str], formats: Sequence[Format], struck_styles: Set[str]) -> None:
        self._struck = struck_styles
        self.sheet = Sheet()
        self._strings = strings
        self._by_style = {"": formats[0] if formats else None} | {str(n): one for n, one in enumerate(formats)}
        self._row, self._column, self._cells = -1, -1, dict[int, str]()
        self._cell: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._into: str | None = None
        self._is_reading_aid = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""
        name = name.rpartition(":")[2]
        self._into = None
        if name == "c":
            self._cell, self._texts = attributes, {}
        elif name in ("v", "t", "f") and not self._is_reading_aid:
            self._into = name
            self._texts.setdefault(name, "")
        elif name == "rPh":
            self._is_reading_aid = True
        elif name == "row":
            row = int(attributes["r"]) - 1 if "r" in attributes else self._row + 1
            self._start_row(row, hidden=attributes.get("hidden") in _YES)
        elif name == "mergeCell":
            area = area_of(attributes.get("ref", ""))
            self.sheet.joined += [area] if area else []
        elif name == "col" and attributes.get("hidden") in _YES:
            self.sheet.hidden_columns.append(range(int(attributes["min"]) - 1, int(attributes["max"])))

    def text(self, text: str) -> None:
        """Take a text."""
        if self._into:
            self._texts[self._into] += text

    def end(self, name: str) -> None:
        """Take the end of an element."""
        name = name.rpartition(":")[2]
        self._into = None
        if name == "rPh":
            self._is_reading_aid = False
        elif name == "c":
            self._end_cell()

    def _start_row(self, row: int, *, hidden: bool) -> None:
        self._row = row
        self._column, self._cells = -1, self.sheet.rows.setdefault(row, {})
        if hidden:
            self.sheet.hidden_rows.add(row)

    def _end_cell(self) -> None:
        place, kind = self._cell.get("r", ""), self._cell.get("t", "n")
        self._column = column_of(place.rstrip("0123456789")) if place else self._column + 1
        value = self._texts.get("v") or self._texts.get("t", "")
        if value.strip():
            text = self._shown(value, kind, self._cell.get("s", ""))
        elif "f" in self._texts and kind != "str":  # an empty text can be what a formula gives
            text = one_line(f"={self._texts['f']}")
            self.sheet.without_value.append(place)
        else:
            return
        if text:
            is_struck = self._cell.get("s") in self._struck and "~~" not in text
            self._cells[self._column] = write_struck(struck(text)) if is_struck else text

    def _shown(self, value: str, kind: str, style: str) -> str:
        if kind == "s":
            place = int(value)
            return self._strings[place] if place < len(self._strings) else ""
        if kind == "n":
            shown = self._by_style.get(style)
            if shown is None:
                return value if value.isdecimal() and len(value) < _EXACT_DIGITS else general(float(value))
            return shown(float(value))
        if kind == "b":
            return "TRUE" if value.strip() in _YES else "FALSE"
        return one_line(value)


def _refuse(*declared: object) -> None:
    raise UnreadableError("its XML declares a document type, which no spreadsheet needs; save the file again")
