"""The text of lines placed on a page: columns one after the other, paragraphs divided by empty lines."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median, median_low
from typing import NamedTuple

from lightrag_dagster.readers.content import as_markdown_item

_COLUMN_LINES = 4  # a column has at least this number of lines next to another
_COLUMN_WIDTH = 10.0  # in heights of a line: a narrower one is a column of a table, and read by rows
_CROSSING = 0.34  # share of the lines that may span both columns, as titles do
_PARAGRAPH = 0.2  # in heights of a line, more than from line to line: the gap between two paragraphs
_DIVIDED = re.compile(r"(?<=[^\W\d_])-\n([^\W\d_])")


class PlacedLine(NamedTuple):
    """A line of text and its box, in any unit, from the upper left corner of the page."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """Height of the box."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Distance of its middle from the top."""
        return (self.top + self.bottom) / 2


def text_of(lines: Sequence[PlacedLine]) -> str:
    """Return the text of a page; words that were divided at the end of a line are whole again."""
    blocks = ("\n".join(_paragraphs(_rows(block))) for block in _blocks(sorted(lines, key=_down)))
    return _DIVIDED.sub(lambda found: found[1] if found[1].islower() else found[0], "\n\n".join(blocks))


def _down(line: PlacedLine) -> tuple[float, float]:
    return line.top, line.left


def _blocks(lines: Sequence[PlacedLine]) -> Iterator[Sequence[PlacedLine]]:
    """Yield the columns and the lines over several of them, in reading order."""
    gutter = _gutter(lines)
    if gutter is None:
        if lines:
            yield lines
        return
    for over_both, group in groupby(lines, key=lambda line: line.left < gutter < line.right):
        block = list(group)
        if over_both:
            yield block
        else:
            yield from _blocks([line for line in block if line.right <= gutter])
            yield from _blocks([line for line in block if line.left >= gutter])


def _gutter(lines: Sequence[PlacedLine]) -> float | None:
    """Return the place of the gap between two columns of text, the one that fewest lines cross; None without one."""
    best: tuple[int, float] | None = None
    for place in sorted({line.left for line in lines}):
        left = [line for line in lines if line.right <= place]
        right = [line for line in lines if line.left >= place]
        crossing = len(lines) - len(left) - len(right)
        if min(len(left), len(right)) < _COLUMN_LINES or crossing > _CROSSING * len(lines):
            continue
        if (best is None or crossing < best[0]) and _are_columns(left, right):
            best = crossing, place
    return best[1] if best else None


def _are_columns(left: Sequence[PlacedLine], right: Sequence[PlacedLine]) -> bool:
    """Return True if lines are columns of text, not of a table: wide ones, and several next to each other."""
    wide = (median((one.right - one.left) / max(one.height, 1e-9) for one in side) for side in (left, right))
    beside = sum(any(_beside(one, other) for other in right) for one in left)
    return min(wide) >= _COLUMN_WIDTH and beside >= _COLUMN_LINES


def _beside(one: PlacedLine, other: PlacedLine) -> bool:
    return abs(one.middle - other.middle) < min(one.height, other.height) / 2


def _rows(lines: Sequence[PlacedLine]) -> list[PlacedLine]:
    """Return the lines of one column, with those next to each other joined."""
    rows: list[list[PlacedLine]] = []
    for line in sorted(lines, key=lambda one: one.middle):
        if rows and _beside(rows[-1][-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_joined(sorted(row, key=lambda one: one.left)) for row in rows]


def _joined(row: Sequence[PlacedLine]) -> PlacedLine:
    return PlacedLine(
        " ".join(one.text for one in row),
        row[0].left,
        min(one.top for one in row),
        max(one.right for one in row),
        max(one.bottom for one in row),
    )


def _paragraphs(rows: Sequence[PlacedLine]) -> Iterator[str]:
    """Yield the lines of a column, and an empty one for each gap wider than usual."""
    gaps = [0.0, *(below.top - above.bottom for above, below in pairwise(rows))]
    wide = median_low(gaps[1:] or gaps) + _PARAGRAPH * median(row.height for row in rows)
    for gap, row in zip(gaps, rows, strict=True):
        if gap > wide:
            yield ""
        yield as_markdown_item(row.text.strip())
