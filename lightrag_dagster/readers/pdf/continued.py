"""Tables that go on at the next page of a PDF, where their header is not drawn again."""

import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest

from lightrag_dagster.readers.pdf.lines import Line

_BESIDE = 2  # lines between a table and the edge of its page, such as the number of the page
_CELL = re.compile(r"(?<!\\)\|")
_NUMBER = re.compile(r"[\W_]*\d[\d\W]*")


def repeat_headers(pages: Sequence[list[Line]]) -> None:
    """Write the header of a table above its rows on the next page, else the first of these would be their header."""
    for before, after in pairwise(pages):
        shown = [place for place, line in enumerate(after) if line.text.strip()][: _BESIDE + 1]
        place = next((place for place in shown if _rows(after[place])), None)
        above = [line for line in before if line.text.strip()][-_BESIDE - 1 :]
        header, rule, *rows = next(filter(None, map(_rows, reversed(above))), ["", ""])
        below = _rows(after[place]) if place is not None else []
        if place is not None and below[1:2] == [rule] and _goes_on(header, rows, below[0]):
            text = "\n".join([header, rule, below[0], *below[2:]])
            after[place] = after[place]._replace(text=f"\n{text}\n")


def _rows(line: Line) -> list[str]:
    """Return the lines of a table; none for a line of text."""
    return line.text.strip().split("\n") if line.text.startswith("\n|") else []


def _goes_on(header: str, rows: Sequence[str], row: str) -> bool:
    """Return True if a row has a number where the rows of a table have numbers below a name."""
    cells = ([cell.strip() for cell in _CELL.split(line)] for line in (header, row, *rows))
    return any(
        name
        and any(values)
        and not _NUMBER.fullmatch(name)
        and all(map(_NUMBER.fullmatch, (value, *filter(None, values))))
        for name, value, *values in zip_longest(*cells, fillvalue="")
    )
