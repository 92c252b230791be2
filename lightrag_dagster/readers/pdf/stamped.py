"""Text that is drawn over a page, such as the values of a flattened form: each value is put behind its label."""

import ctypes
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Set
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from lightrag_dagster.readers.pdf.characters import PageCharacters
from lightrag_dagster.readers.pdf.places import Places

_MOST = 10_000  # objects of a page that are looked at
_DEPTH = 4  # of drawings in each other
_OFF = 0.5  # in sizes, between the baselines of a label and its value
_BELOW = 1.6  # in sizes, to the next line of a value
_IN_LINE = 2.0  # points, by which lines of a value may begin apart
_LABEL = 20.0  # in sizes; a wider line is prose, which has values in its gaps alone
_COLUMN = 4, 10.0  # lines, and their width in sizes; more and wider ones are a column beside another


class _Piece(NamedTuple):
    """Characters of a line that are drawn in one layer: 0 for the page itself."""

    numbers: list[int]
    layer: int
    text: str
    left: float
    right: float
    height: float
    size: float

    @property
    def width(self) -> float:
        """Width in sizes."""
        return (self.right - self.left) / self.size


def join_stamped(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, characters: PageCharacters, inside: Set[int]
) -> None:
    """Put text of a drawing into the line that is drawn before it at the same height, but for what is in tables.

    Drawings most of whose lines are at the height of no label, and columns next to each other, stay as they are.
    """
    places, layers = Places(textpage), _layers(page)
    if not layers:
        return
    pieces = [piece for piece in _pieces(textpage, characters, places, layers) if inside.isdisjoint(piece.numbers)]
    found: dict[int, list[tuple[_Piece, _Piece]]] = defaultdict(list)
    above, seen = dict[int, _Piece](), list[tuple[float, int]]()
    for at, piece in enumerate(pieces):
        if piece.layer and (target := _target(piece, pieces, seen) or _continued(piece, above, found[piece.layer])):
            found[piece.layer].append((piece, target))
        above[piece.layer] = piece
        insort(seen, (piece.height, at))
    kept = [
        pair
        for layer, pairs in found.items()
        if 2 * len(pairs) >= sum(piece.layer == layer for piece in pieces) and not _is_column(pairs)
        for pair in pairs
    ]
    for piece, target in sorted(kept, key=lambda pair: (pair[0].left, -pair[0].height)):
        characters.move(piece.numbers, target.numbers)


def _target(piece: _Piece, pieces: list[_Piece], seen: list[tuple[float, int]]) -> _Piece | None:
    """Return the nearest earlier piece of another layer at the height of a piece, if it is a label or has a gap."""
    off = _OFF * piece.size
    begin, end = bisect_left(seen, (piece.height - off,)), bisect_right(seen, (piece.height + off,))
    near = [one for _, at in seen[begin:end] if (one := pieces[at]).layer != piece.layer]
    fits = [one for one in near if one.width < _LABEL or one.left < piece.left < one.right]
    return min(fits, key=lambda one: (abs(one.height - piece.height), abs(one.right - piece.left)), default=None)


def _continued(piece: _Piece, above: dict[int, _Piece], pairs: list[tuple[_Piece, _Piece]]) -> _Piece | None:
    """Return where the line above a piece was put, if the piece is the next line of the same value."""
    before = above.get(piece.layer)
    if not pairs or pairs[-1][0] is not before or abs(before.left - piece.left) > _IN_LINE:
        return None
    return pairs[-1][1] if 0 < before.height - piece.height < _BELOW * piece.size else None


def _is_column(pairs: list[tuple[_Piece, _Piece]]) -> bool:
    wide = [median(piece.width for piece in side) for side in zip(*pairs, strict=True)]
    labels = sum(target.text.endswith(":") for _, target in pairs)
    return len(pairs) >= _COLUMN[0] and min(wide) >= _COLUMN[1] and 2 * labels < len(pairs)


def _pieces(
    textpage: pypdfium2.PdfTextPage, characters: PageCharacters, places: Places, layers: dict[int, int]
) -> Iterator[_Piece]:
    """Yield the level text of each line by its layers; an added space is of the layer before it."""
    layer = 0

    def layer_of(number: int) -> int:
        nonlocal layer
        drawn = pdfium.FPDFText_GetTextObject(textpage, number)
        layer = layers.get(_address(drawn), 0) if drawn else layer
        return layer

    for line in characters.lines():
        for one, group in groupby(line, key=layer_of):
            numbers = list(group)
            text, first = characters.texts(numbers).strip(), characters.first(numbers)
            if first is None or not places.is_level(first) or not (size := places.size(first)):
                continue
            left, height = places.origin(first)
            last = next(number for number in reversed(numbers) if characters.text(number, number + 1).strip())
            yield _Piece(numbers, one, text, left, places.right(last), height, size)


def _layers(page: pypdfium2.PdfPage) -> dict[int, int]:
    """Return the layer of each text in a drawing, by its address."""
    layers: dict[int, int] = {}
    for number in range(min(pdfium.FPDFPage_CountObjects(page), _MOST)):
        item = pdfium.FPDFPage_GetObject(page, number)
        if pdfium.FPDFPageObj_GetType(item) == pdfium.FPDF_PAGEOBJ_FORM:
            layers |= dict.fromkeys(_texts(item, _DEPTH), number + 1)
    return layers


def _texts(form: Any, depth: int) -> Iterator[int]:
    """Yield the addresses of the texts in a drawing."""
    for number in range(min(pdfium.FPDFFormObj_CountObjects(form), _MOST)):
        item = pdfium.FPDFFormObj_GetObject(form, number)
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            yield _address(item)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
            yield from _texts(item, depth - 1)


def _address(item: Any) -> int:
    return ctypes.addressof(item.contents)
