"""The first row of a table: names of its columns, or values as in the rows below."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

NUMBER = re.compile(r"[\W_]*\d")
"""The beginning of a number, a date, or another value such as `12 March`."""

_AMOUNT = re.compile(r"\d+(?:[.,'’ ]\d{3})*(?:[.,]\d+)?")
YEAR = re.compile(r"(?:19|20)\d\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_KEY, _YEARS = ":", "year"
_SAMPLE_ROWS = 50
_FEW = 3


def says_names(rows: Iterable[Sequence[str]]) -> bool | None:
    """Return True if the first row has names by those below, False if it has values as they do, None if none says so.

    Words above numbers are names, and so are years above amounts. Numbers, dates and keys with a colon above others of
    their kind are values; but rising numbers, such as 1, 2, 3, may be names, and so may all beside an empty corner.
    """
    first, *others = islice(rows, _SAMPLE_ROWS)
    pairs = [
        (_kind([cell]), _kind(row[place] for row in others if place < len(row)), cell)
        for place, cell in enumerate(first)
        if cell
    ]
    alike = [cell for kind, below, cell in pairs if kind and kind == below]
    if any(kind == below == _KEY for kind, below, _ in pairs):
        return False
    has_values = bool(alike and first[0]) and not _are_rising(alike)
    years = [kind for kind, below, _ in pairs if kind == _YEARS and below not in ("", _YEARS)]
    has_names = len(years) > 1 or any(not kind and below not in ("", _KEY) for kind, below, _ in pairs)
    return None if has_names == has_values else has_names


def _kind(cells: Iterable[str]) -> str:
    """Return the form that most cells have: their numbers as `0`, words beside them as `a`; "" for texts."""
    filled = [cell for cell in cells if cell]
    form, count = max(Counter(map(_form, filled)).items(), key=lambda one: one[1], default=("", 0))
    if 2 * count <= len(filled):
        return ""
    return _YEARS if form == "0" and all(map(YEAR.fullmatch, filled)) else form


def _form(cell: str) -> str:
    if not NUMBER.match(cell):
        return _KEY if cell.endswith((":", "：")) else ""
    form = _LETTERS.sub("a", _AMOUNT.sub("0", cell)).lstrip("(+-−–~<>≤≥±$€£¥ ")
    return "" if "a a" in form else form


def _are_rising(cells: Sequence[str]) -> bool:
    """Return True for four or more numbers that rise, or three in equal steps."""
    try:
        steps = {after - before for before, after in pairwise(map(float, cells))}
    except ValueError:
        return False
    return len(cells) >= _FEW and min(steps) > 0 and (len(cells) > _FEW or len(steps) == 1)
