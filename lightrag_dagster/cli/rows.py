"""Rows of `sql` and `cypher` on standard output: a table for people, CSV and JSON for programs, a row at a time."""

import csv
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Literal, TextIO

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.core.text.sheets import FORMULAS, marked
from lightrag_dagster.errors import LightRAGError

Form = Literal["table", "csv", "escaped-csv", "json"]


def print_rows(
    console: Console,
    form: Form,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    wrap: Collection[str],
    more: int = 0,
) -> None:
    """Print rows as a table on the console, or in another form write them to standard output alone.

    Below a table is a line if there are none, or `more` that are not printed; `wrap` are its columns of text.
    """
    if form in ("csv", "escaped-csv"):
        write_csv(columns, rows, escape_formulas=form == "escaped-csv")
    elif form == "json":
        _write_json(columns, rows)
    else:
        shown = list(rows)
        if columns:
            print_table(console, columns, shown, wrap=wrap)
        if not shown:
            console.print("no rows")
        if more:
            console.print(f"{more:,} more rows; use --format csv for all of them.")


def write_csv(
    columns: Sequence[str],
    rows: Iterable[Iterable[object]],
    *,
    escape_formulas: bool = False,
    file: TextIO | None = None,
) -> None:
    """Write a header and rows as CSV to standard output, or to a file that is open.

    `escape_formulas` puts an apostrophe before text that begins like a formula.
    """
    writer = csv.writer(_LineFeeds(file or sys.stdout), lineterminator="\r\n")
    writer.writerow(map(_as_text, columns) if escape_formulas else columns)
    writer.writerows((map(_as_text, row) for row in rows) if escape_formulas else rows)


def require_new(file: Path, with_what: str, error: type[LightRAGError], *suffixes: str) -> None:
    """Refuse a new file, CSV unless other `suffixes` are given, that cannot be written; raises `error`.

    One that is there is so `with_what` people wrote.
    """
    first, *_ = known = suffixes or (".csv",)
    if file.suffix.lower() not in known:
        raise error(f"{file} would be a {first[1:].upper()} file; name it {first}")
    if os.path.lexists(file):
        raise error(f"{file} is there already, {with_what}, or name another file")
    if not os.access(file.parent, os.W_OK):
        raise error(f"{file} cannot be written; name a file in a folder that is there, and that you may write to")


def write_new_csv(
    file: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], error: type[LightRAGError]
) -> None:
    """Write a new file for spreadsheets: with the mark by which they know UTF-8; its cells stay. Raises `error`."""
    cells = (map(marked, row) for row in rows)
    write_new(file, lambda opened: write_csv(columns, cells, file=opened), error, "utf-8-sig")


def write_new(
    file: Path, write: Callable[[TextIO], object], error: type[LightRAGError], encoding: str = "utf-8"
) -> None:
    """Write a new file, to which `write` is given open; raises `error`."""
    try:
        with file.open("x", encoding=encoding, newline="") as opened:
            write(opened)
    except OSError as cause:
        raise error(f"{file} cannot be written: {cause.strerror or cause}; name another file") from cause


def _write_json(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as one JSON array of objects, on a line of its own."""
    names, separator = _distinct(columns), "["
    encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
    for row in rows:
        sys.stdout.write(separator + encode({name: _in_json(cell) for name, cell in zip(names, row, strict=True)}))
        separator = ", "
    sys.stdout.write("[]\n" if separator == "[" else "]\n")


class _LineFeeds:
    """A file with line feeds, for a writer that ends rows by CR LF: only so does it quote cells with a CR."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> None:
        self._file.write(row.removesuffix("\r\n") + "\n")


def _in_json(cell: object) -> object:
    """Return a decimal as a number, and infinity and NaN as null."""
    match cell:
        case Decimal():
            return int(cell) if cell == cell.to_integral_value() else float(cell)
        case float():
            return cell if isfinite(cell) else None
        case list() | tuple():  # a map is pairs
            return [_in_json(one) for one in cell]
        case dict():
            return {str(name): _in_json(one) for name, one in cell.items()}
    return cell


def _as_text(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell


def _distinct(names: Sequence[str]) -> list[str]:
    """Make names distinct as DuckDB does, a, a_1, with the first number that no other column has."""
    found: list[str] = []
    for name in names:
        free = (one for number in count(1) if (one := f"{name}_{number}") not in found and one not in names)
        found.append(next(free) if name in found else name)
    return found
