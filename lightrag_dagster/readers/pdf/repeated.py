"""Headers and footers of a PDF: lines at the same place of most pages."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from lightrag_dagster.readers.pdf.lines import Line

_LEAST_PAGES = 3
_MOST = 0.4  # share of the pages; left and right pages may differ
_MARGIN = 0.13  # share of a page's height
_LINES = 3  # at each end of a page
_NEAR = 3.0  # points
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(
    r"\b(?=[ivxlcdm])m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})(?<=\w)\b", re.IGNORECASE
)
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def find_repeated(pages: Sequence[Sequence[Line]], bounds: Sequence[tuple[float, float]]) -> list[set[int]]:
    """Return, for each page, the numbers of its lines that are headers or footers.

    Their texts are equal, but for numbers that count the pages. `bounds` are the lower and upper edges of the pages.
    """
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for page, lines in enumerate(pages):
        for number in _at_ends(lines, *bounds[page]):
            found[_NUMBER.sub("#", _in_digits(lines[number].text))].append((page, number))
    repeated: list[set[int]] = [set() for _ in pages]
    least = max(_LEAST_PAGES, _MOST * len(pages))
    for text, places in found.items():
        for group in _by_height(places, pages):
            counted = group if not any(map(str.isalpha, text)) else _counted(group, pages)
            if len({page for page, _ in counted}) >= least:
                for page, number in counted:
                    repeated[page].add(number)
    return repeated


def _at_ends(lines: Sequence[Line], bottom: float, top: float) -> Iterator[int]:
    """Yield the numbers of the outermost lines in the margins of a page."""
    placed = sorted((line.height, number) for number, line in enumerate(lines) if line.size and line.text)
    for at, number in {*placed[:_LINES], *placed[-_LINES:]}:
        if min(at - bottom, top - at) < _MARGIN * (top - bottom):
            yield number


def _by_height(places: list[tuple[int, int]], pages: Sequence[Sequence[Line]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the lines at one height."""
    group: list[tuple[int, int]] = []
    last = 0.0
    for page, number in sorted(places, key=lambda place: pages[place[0]][place[1]].height):
        height = pages[page][number].height
        if group and height - last > _NEAR:
            yield group
            group = []
        group.append((page, number))
        last = height
    if group:
        yield group


def _counted(group: list[tuple[int, int]], pages: Sequence[Sequence[Line]]) -> list[tuple[int, int]]:
    """Return the lines whose numbers are the same on most pages, or grow by one from page to page."""
    kinds: list[tuple[tuple[str, int], ...]] = []
    for page, number in group:
        numbers = [int(digits[-9:]) for digits in _NUMBER.findall(_in_digits(pages[page][number].text))]
        kinds.append(tuple(("same", one) for one in numbers) + tuple(("page", one - page) for one in numbers))
    width = len(kinds[0]) // 2
    for column in range(width):
        same, counting = (_usual([kind[place] for kind in kinds]) for place in (column, width + column))
        kept = [
            place
            for place, kind in enumerate(kinds)
            if (kind[column] == same[0] if same[1] >= counting[1] else kind[width + column] == counting[0])
        ]
        group = [group[place] for place in kept]
        kinds = [kinds[place] for place in kept]
    return group


def _in_digits(text: str) -> str:
    """Return text with digits for Roman numerals, which the first pages of a book have."""
    return _ROMAN.sub(_decimal, text)


def _decimal(roman: re.Match[str]) -> str:
    values = [_VALUES[letter] for letter in roman[0].lower()]
    return str(sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True)))


def _usual(values: list[tuple[str, int]]) -> tuple[tuple[str, int], int]:
    """Return the most frequent value and its number."""
    return Counter(values).most_common(1)[0]
