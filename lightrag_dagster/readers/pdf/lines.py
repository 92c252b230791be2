"""The lines of a PDF page, with its tables and the values of its form in their places."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pypdfium2

from lightrag_dagster.readers.content import as_markdown_item
from lightrag_dagster.readers.pdf.characters import PageCharacters, units_of
from lightrag_dagster.readers.pdf.fields import Field, place_fields
from lightrag_dagster.readers.pdf.hyphens import DIVIDED, without_marks
from lightrag_dagster.readers.pdf.places import Places
from lightrag_dagster.readers.pdf.ruled_tables import RuledTable, find_tables

_BREAK = re.compile(r"\r\n|\r|\n")
_SHADOW = 0.3  # in sizes, from a line to the same line drawn again
_ITEM = 3.0  # in sizes, from the mark of an item to its text at the most
_MARK = re.compile(r"[•◦▪‣●○■–-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]", re.IGNORECASE)
_STACK = 4  # letters one below the other are a word
_MEANINGLESS = re.compile("[\x00-\x08\x0e-\x1f\ue000-\uf8ff\ufffd-\uffff\U000f0000-\U0010ffff]{2,}")  # one is a sign
_GARBLED, _LOST = 0.1, 0.5  # shares of such characters: pages with more are named, and lines with more left out


class Line(NamedTuple):
    """A line of text, the size of a character in its middle, and its height, begin and end. Points; 0 if unknown.

    One with a divided word is two lines of the page or more, and `bottom` the height of the last of them.
    """

    text: str
    size: float = 0.0
    height: float = 0.0
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0


class PageLines(NamedTuple):
    """The lines of a page, and PDFium's plain text of it with its fields.

    `replaced` are words of that text that read otherwise in the lines. `is_unknown` is set if the fonts do not say
    which characters most lines begin with, or some have no meaning; `is_lost` if most have none.
    """

    lines: list[Line]
    plain: Sequence[str] = ()
    replaced: Sequence[str] = ()
    is_unknown: bool = False
    is_lost: bool = False


def lines_of(page: pypdfium2.PdfPage, fields: list[Field]) -> PageLines:
    """Return the lines of a page; on one with many characters without meaning, lines of these are left out."""
    found = _lines_of(page, fields)
    share = _meaningless(found.plain[0])
    if share <= _GARBLED:
        return found
    lines = [line for line in found.lines if _meaningless(line.text) <= _LOST]
    return found._replace(lines=lines, is_unknown=True, is_lost=share > _LOST)


def _meaningless(text: str) -> float:
    """Return the share of the characters of a text that have no meaning, but for its own font."""
    return sum(map(len, _MEANINGLESS.findall(text))) / (len("".join(text.split())) or 1)


def _lines_of(page: pypdfium2.PdfPage, fields: list[Field]) -> PageLines:
    textpage = page.get_textpage()
    try:
        text = textpage.get_text_range()
        plain = [text, *(field.value for field in fields)]
        # As with half a character, which is not in the text, places in it may differ from PDFium's own numbers.
        if len(units := units_of(text)) != textpage.count_chars():
            lines = [Line(line.strip()) for line in _BREAK.split(without_marks(text))]
            return PageLines(lines + [Line(field.line) for field in fields], plain)
        places = Places(textpage)
        characters = PageCharacters(places, units)
        beside = place_fields(fields, characters)
        found = list(_with_tables(characters, find_tables(page, textpage, characters), places))
        shown = list(_stacked(_once(found)))
        replaced = characters.replaced + _missing(found, shown)
        lines = [*_with_marks(shown), *(Line(field.line) for field in beside)]
        return PageLines(lines, plain, replaced, _is_unknown(characters, places))
    finally:
        textpage.close()


def _is_unknown(characters: PageCharacters, places: Places) -> bool:
    firsts = [place for line in characters.lines() if (place := characters.first(line)) is not None]
    return sum(map(places.is_unknown, firsts)) > len(firsts) / 2


def _with_tables(characters: PageCharacters, tables: list[RuledTable], places: Places) -> Iterator[Line]:
    """Yield the lines of a page, and each table at the place of its first character."""
    begins = {min(table.characters): table for table in tables}
    inside = frozenset[int]().union(*(table.characters for table in tables))
    for line in characters.lines():
        yield from (Line(f"\n{begins[place].markdown}\n") for place in line if place in begins)
        left = [place for place in line if place not in inside] if inside else line
        rest = characters.text(left)
        first = characters.first(left)
        if first is None:
            if not characters.text(line).strip():
                yield Line("")
            continue
        x, y = places.origin(first)
        last = characters.first(reversed(left)) or first
        middle = characters.first(left[len(left) // 2 :]) or last  # the number of an item may be larger than its text
        bottom = places.origin(last)[1] if DIVIDED.search(rest) else y
        yield Line(as_markdown_item(rest.strip()), round(places.size(middle), 1), y, x, places.right(last), bottom)


def _once(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines without those that are drawn again a little beside themselves, as shadows are."""
    drawn: dict[str, list[Line]] = {}
    for line in lines:
        same = drawn.setdefault(line.text, []) if line.size and line.text else []
        near = (math.dist((line.left, line.height), (one.left, one.height)) for one in same)
        if not any(distance < _SHADOW * line.size for distance in near):
            yield line
        same.append(line)


def _with_marks(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines, with the mark of an item before its text: some programs draw marks behind all text of a page."""
    first = dict[Line, Line]()
    marks = [line for line in lines if line.size and _MARK.fullmatch(line.text)]
    texts = [line for line in lines if not _MARK.fullmatch(line.text)] if marks else []
    for mark in marks:
        level = (line for line in texts if abs(line.height - mark.height) < _SHADOW * mark.size)
        beside = (line for line in level if mark.right <= line.left < mark.right + _ITEM * mark.size)
        if (item := min(beside, key=lambda line: line.left, default=None)) is not None:
            first[item] = mark
    placed = set(first.values())
    for line in lines:
        if line in first:
            text = as_markdown_item(f"{first[line].text} {line.text}")
            yield line._replace(text=text, left=first[line].left)
        elif line not in placed:
            yield line


def _missing(lines: Sequence[Line], shown: Sequence[Line]) -> list[str]:
    if len(lines) == len(shown):
        return []
    left = Counter(line.text for line in lines)
    left.subtract(line.text for line in shown)
    return [text for text, count in left.items() for _ in range(count)]


def _stacked(lines: Iterator[Line]) -> Iterator[Line]:
    """Yield the lines, with letters one below or beside the other as a word."""
    for alone, group in groupby(lines, key=lambda line: len(line.text) == 1 and line.text.isalpha()):
        stack = list(group)
        if alone and len(stack) >= _STACK:
            yield stack[0]._replace(text="".join(line.text for line in stack))
        else:
            yield from stack
