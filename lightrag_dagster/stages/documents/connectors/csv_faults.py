"""Faults of CSV files in words: DuckDB guesses how a file is written, so that one line may hide all columns."""

import csv
import errno
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_DELIMITERS = ",;\t|"


def require_even(path: Path) -> None:
    """Check that all lines of a CSV file of several columns are UTF-8 and have as many as its first one.

    Raises:
        OSError: a line differs; the message names the first that does.
    """
    first = next(_lines(path), "")
    delimiter = max(_DELIMITERS, key=first.count)
    if delimiter not in first:
        return
    rows = csv.reader(_lines(path), delimiter=delimiter)
    columns = 0
    with suppress(csv.Error):  # of a cell too large for this library: the caller's own error stands
        for row in filter(None, rows):
            columns = columns or len(row)
            if len(row) != columns:
                line = f"line {rows.line_num} has {len(row)} columns and the first line {columns}"
                raise OSError(errno.EINVAL, f"{line}; correct it, or put a value with {delimiter!r} between quotes")


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise OSError(errno.EILSEQ, f"line {number} is not UTF-8; save the file in that encoding") from error
