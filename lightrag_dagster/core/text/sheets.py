"""CSV files that people edit, in the encodings and with the delimiters that spreadsheets write."""

import codecs
import csv
import io
import logging
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.errors import LightRAGError, one_line

_log = logging.getLogger(__name__)

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that a spreadsheet takes for a formula."""

_KEY = re.compile(r"[A-Za-z]\d+[A-Za-z]")
"""A part of an id, and of no date."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_MONTH = re.compile(
    "jan|ene|gen|feb|fev|fév|mar|mär|mrt|maa|apr|avr|abr|mai|may|mag|mei|maj|jun|giu|jui|jul|lug|ago|aug|aoû|sep|set|"
    "oct|okt|ott|out|nov|dec|déc|dez|dic|янв|фев|мар|апр|мая|май|июн|июл|авг|сен|окт|ноя|дек"
)
"""The first letters of months, in the languages of most spreadsheets."""
_WHOLE = re.compile("0|[1-9][0-9]{0,10}")
_DELIMITER = re.compile('"?sep=(.)"?[,;\t]*', re.IGNORECASE)


class SheetRow(NamedTuple):
    """A row with its cells by column, in lower case; `place` is file:line."""

    place: str
    cells: dict[str, str]


def files_of(folder: Path, *suffixes: str, deep: bool = False) -> list[Path]:
    """Return the files of some endings in a folder, in order, without hidden ones; `deep` also those of folders in it.

    Raises OSError.
    """
    found = folder.rglob("*") if deep else folder.iterdir()
    shown = (one for one in found if not any(part.startswith(".") for part in one.relative_to(folder).parts))
    return sorted(one for one in shown if one.suffix.lower() in suffixes and not one.is_dir())


def read_text(file: Path, error: type[LightRAGError], *others: str, warns: bool = True) -> str:
    """Return the text of a file in UTF-8, in UTF-16 with its mark, or, where it is neither, in the first of `others`.

    It `warns` of the latter.

    Raises:
        LightRAGError: it cannot be read; of the class `error`.
    """
    try:
        if not file.is_file():  # a link to nowhere, or a pipe that would never end
            raise error(f"{file} is not a file; remove it, or name one that is there")
        data = file.read_bytes()
        encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            if not others or encoding == "utf-16":
                raise
            text = data.decode(others[0])
            if warns:
                _warn(file, others[0])
    except OSError as cause:
        raise error(f"{file} cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{file} cannot be read: {one_line(cause)}; save it as UTF-8") from cause
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as Python opens text files


@cache  # once in a process, which reads a file many times
def _warn(file: Path, encoding: str) -> None:
    _log.warning("%s is not UTF-8, and read as %s; save it as UTF-8 if names look wrong", file, encoding)


def read_sheet(text: str, name: str, required: Sequence[str], error: type[LightRAGError]) -> Iterator[SheetRow]:
    """Yield the rows of CSV text that are not empty, after the line that names the columns.

    Args:
        text: The text.
        name: The name of its file, for places.
        required: Columns that there must be.
        error: The class of errors.

    Raises:
        LightRAGError: it is not valid CSV, has no such columns, or a row has more; of the class `error`.
    """
    csv.field_size_limit(2**31 - 1)  # of the process; a cell may be a long passage
    header = text.partition("\n")[0]
    told = _DELIMITER.fullmatch(header)  # a line for spreadsheets alone
    # Spreadsheets of many countries write semicolons, and tabs into "Unicode text".
    delimiter = told[1] if told else max(",", ";", "\t", key=header.count)
    lines = io.StringIO(text[len(header) + 1 :] if told else text, newline="")
    rows = csv.DictReader(lines, delimiter=delimiter, strict=True)
    try:
        columns = [column.strip().lower() for column in rows.fieldnames or ()]
        rows.fieldnames = columns
        missing = [f"there is no column {column!r}" for column in required if column not in columns]
        twice = [f"the column {column!r} is there twice" for column in columns if column and columns.count(column) > 1]
        if missing or twice:
            raise error(f"{name}:{1 + bool(told)}: {[*missing, *twice][0]}; the first line names the columns")
        for row in rows:
            cells = {column: _cell(value) for column, value in row.items() if isinstance(value, str)}
            line = bool(told) + rows.line_num - sum(value.count("\n") for value in cells.values())
            if any(row.get(None, ())):
                raise error(f"{name}:{line}: there are more cells than columns; put a text with commas in quotes")
            if any(cells.values()):
                yield SheetRow(f"{name}:{line}", cells)
    except csv.Error as cause:
        raise error(f"{name}:{rows.line_num + bool(told)}: it is not valid CSV: {cause}") from None


def marked(cell: object) -> object:
    """Return a cell with the mark of a text if a spreadsheet would take it for a formula, a number or a date.

    It would save `September 11` as 11-Sep, and 00123 as 123.
    """
    return f"'{cell}" if isinstance(cell, str) and _may_change(cell) and not _WHOLE.fullmatch(cell) else cell


def _cell(value: str) -> str:
    """Return a cell without the mark of a text."""
    value = value.strip()
    return value[1:] if value.startswith("'") and _may_change(value) else value


def _may_change(text: str) -> bool:
    """Say if a text may be a formula, a number or a date: with a digit, and no word but the name of a month."""
    bare = text.lstrip("'")
    is_like_a_date = len(words := _WORD.findall(bare)) < 2 and all(map(_MONTH.match, map(str.lower, words)))
    return bare.startswith(FORMULAS) or (is_like_a_date and any(map(str.isdigit, bare)) and not _KEY.search(bare))
