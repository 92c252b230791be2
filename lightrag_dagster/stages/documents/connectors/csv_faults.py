"""Faults of CSV files in words: DuckDB guesses how a file is written, so that one line may hide all columns."""

import csv
import errno
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

_DELIMITERS = ",;\t|"


def has_columns(path: Path) -> bool:
    """Say whether the first line of a CSV file has several columns; raises OSError when it is not UTF-8."""
    return _delimiter(next(_lines(path), "")) is not None


def require_even(path: Path, *, below_title: bool = False) -> None:
    """Check that all lines of a CSV file of several columns are UTF-8 and have as many as its first one.

    Args:
        path: The file.
        below_title: The first line that has several columns counts, not the first line.

    Raises:
        OSError: a line differs; the message names the first that does.
    """
    lines, title = _lines(path), 0
    first = next(lines, "")
    while below_title and first and not _delimiter(first):
        first, title = next(lines, ""), title + 1
    delimiter = _delimiter(first)
    if delimiter is None:
        return
    rows = csv.reader(chain([first], lines), delimiter=delimiter)
    columns = 0
    with suppress(csv.Error):  # of a cell too large for this library: the caller's own error stands
        for row in filter(None, rows):
            columns = columns or len(row)
            if len(row) != columns:
                names = f"line {title + 1}" if title else "the first line"
                line = f"line {title + rows.line_num} has {len(row)} columns and {names} {columns}"
                raise OSError(errno.EINVAL, f"{line}; correct it, or put a value with {delimiter!r} between quotes")


def _delimiter(line: str) -> str | None:
    most = max(_DELIMITERS, key=line.count)
    return most if most in line else None


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        file.seek(0)  # of a descriptor, which may have been read before
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise OSError(errno.EILSEQ, f"line {number} is not UTF-8; save the file in that encoding") from error
