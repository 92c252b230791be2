"""Rows of a marked answer: which lines hold records, and where one record ends and the next begins.

Every row begins with its record word, however that is decorated (`- entity`, `("Entity"`, `**relation**`, `1. entity`);
a line that does not is prose. Where a line holds several rows, a record word is told from a field that happens to be
or end in that word by counting: it begins a row where the row before it has just got all its fields.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from lightrag_dagster.stages.extraction.delimiters import FIELD

Kind = Literal["entity", "relation"]

# Fields of a whole row, its record word included.
_LENGTHS: dict[Kind, int] = {"entity": 4, "relation": 5}

_MARKS = " \t\v\f\xa0\u3000\ufeff\"'“”‘’«»*_`~|<>()[]{}:;.,!?+=-–—•·#/\\"
_MARKS_AND_DIGITS = _MARKS + "0123456789"
_WORD = re.compile(r"(?:(?<=\\[nr])|(?<![^\W\d_]))(?P<word>entity|relation(?:ship)?s?)\Z", re.IGNORECASE)
_LONGEST_WORD = len("relationships")
_JOINT = re.compile(r"(?:##|\\[nr])[\W\d_]*\Z")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")

_BRACKETS = {")": "(", "]": "[", "}": "{"}
_OPENING = {opening: closing for closing, opening in _BRACKETS.items()}
_RUN = re.compile(r'\*+|`+|"+')
_TAIL_MARKS = frozenset('()[]{}*`"#|,;-•nr')


class Row(NamedTuple):
    """A record as it was written: its kind, and its fields without the record word."""

    kind: Kind
    fields: list[str]


class _Start(NamedTuple):
    """A record word at the end of a field, and what stands before it: the last field of another row."""

    kind: Kind
    before: str

    @property
    def is_clear(self) -> bool:
        """Whether it begins a row even where the row before is not whole."""
        return not self.before or _JOINT.search(self.before[-32:]) is not None


def read_rows(line: str) -> list[Row]:
    """Return the rows of one line; none when the line does not begin like one."""
    if FIELD not in line:
        return []
    fields = [field.strip() for field in line.split(FIELD)]
    for kind, length in _LENGTHS.items():
        if fields[0] == kind and len(fields) == length:  # as it should be, and nearly always is
            return [Row(kind, [*fields[1:-1], undecorated(fields[-1])])]
    first = next((index for index, field in enumerate(fields) if field.strip(_MARKS)), 0)
    starts = {index: start for index in range(first, len(fields) - 1) if (start := _start(fields[index]))}
    if first not in starts or starts[first].before.strip(_MARKS_AND_DIGITS):
        return []
    rows = []
    at = first
    while at < len(fields):
        kind, stop = starts[at].kind, _stop(fields, starts, at)
        row = fields[at + 1 : stop]
        if stop < len(fields) and starts[stop].before:
            row.append(starts[stop].before)
        if row:
            row[-1] = undecorated(row[-1])
        rows.append(Row(kind, row))
        at = stop
    return rows


def _start(field: str) -> _Start | None:
    core = field.rstrip(_MARKS_AND_DIGITS)
    found = _WORD.search(core, max(0, len(core) - _LONGEST_WORD))
    if not found:
        return None
    before = core[: found.start()].strip()
    return _Start("entity" if found["word"].lower() == "entity" else "relation", before if before.strip(_MARKS) else "")


def _stop(fields: Sequence[str], starts: Mapping[int, _Start], at: int) -> int:
    """Return the index of the field that ends the row begun at `at`, or that holds the record word of the next row.

    Wherever it can, the row gets all its fields, and a strength or a blank after them. Otherwise it ends before the
    next record word that is clear, or with the line.
    """
    full = at + _LENGTHS[starts[at].kind]
    if full == len(fields) or (full in starts and not starts[full].before):
        return full
    extra = starts[full].before if full in starts else "".join(fields[full : full + 1])
    ends = (full,) if extra and strength(extra) is None else (full + 1, full)
    for end in ends:
        if end == len(fields) or (end in starts and not starts[end].before):
            return end
        if end - 1 in starts and starts[end - 1].before:
            return end - 1
    return next(
        (index for index in range(at + 1, len(fields)) if index in starts and starts[index].is_clear), len(fields)
    )


def strength(field: str) -> float | None:
    """Return the number that is all of a field, if it is one."""
    number = undecorated(field).strip("\"'*`")
    return float(number) if _NUMBER.fullmatch(number) else None


def undecorated(field: str) -> str:
    """Return the last field of a row without what closes the row or joins it to the next: `)`, `**`, fences, `##`.

    A bracket or mark stays when its opening is in the field.
    """
    field = field.strip()
    if field[-1:] not in _TAIL_MARKS:
        return field
    runs = Counter(run[0] for run in _RUN.findall(field))
    unopened = {closing: field.count(closing) - field.count(opening) for closing, opening in _BRACKETS.items()}
    end = len(field)
    while end:
        mark, pair = field[end - 1], field[max(0, end - 2) : end]
        if pair in ("##", "\\n", "\\r"):
            end -= 2
        elif mark in _OPENING:
            unopened[_OPENING[mark]] += 1
            end -= 1
        elif mark in _BRACKETS and unopened[mark] > 0:
            unopened[mark] -= 1
            end -= 1
        elif runs[mark] % 2:
            runs[mark] -= 1
            end = len(field[:end].rstrip(mark))
        elif mark in " \t|,;" or (mark in "-•" and field.endswith((" ", "\\n", "\\r"), 0, end - 1)):
            end -= 1
        else:
            break
    return field[:end]
