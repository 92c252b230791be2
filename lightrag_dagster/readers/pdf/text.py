"""PDF, by PDFium: the text of every page in its order, with lines in larger type as headings."""

import ctypes
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from lightrag_dagster.readers.content import Content, Properties, UnreadableError, as_markdown_item, make_properties
from lightrag_dagster.readers.images.ocr import scale_for
from lightrag_dagster.readers.images.pixels import MOST_PIXELS
from lightrag_dagster.readers.office.archive import DAMAGED
from lightrag_dagster.readers.pdf.ruled_tables import RuledTable, find_tables

if TYPE_CHECKING:
    from lightrag_dagster.readers.images.figures import Figures
    from lightrag_dagster.readers.images.ocr import Pixels

_BREAK = re.compile(r"\r\n|\r|\n")
_HYPHEN = re.compile("[\x02\ufffe](?:\r\n|\r|\n)?")  # PDFium's mark for a word that was divided at the end of a line
_PROGRAM = re.compile(r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )+")
_LARGER = 1.15  # times the size of the text; other text than headings is rarely that large
_WIDER = 1.3  # than from line to line: the gap between two paragraphs
_LONGEST_HEADING = 200  # characters
_LEVELS = 4
_MOST_HEADINGS = 0.5  # share of the lines; with more, size is not a sign of headings
_STAMP = 60  # characters that programs put on a scanned page, such as its number
_COVERED = 0.6  # share of a page under images
_MOST_OBJECTS = 10_000  # of a page that are looked at
_SMALL = 36  # points; a side of an image that is decoration
_DOTS = 200  # dots per inch of a drawn page


class _Line(NamedTuple):
    """A line of text: the size of its first character, and its height on the page. Points; 0 if not known."""

    text: str
    size: float = 0.0
    height: float = 0.0


def read(data: bytes, figures: "Figures | None" = None) -> Content:
    """Read the text of every page; images are put into `figures`, and follow the text of their page."""
    if not data:
        raise UnreadableError("the file is empty: it has 0 bytes")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise UnreadableError("protected by a password; save a copy without it") from error
        what = DAMAGED if b"%PDF-" in data[:1024] else "not what its suffix says: no PDF; give the file its own suffix"
        raise UnreadableError(what) from error
    try:
        pages, drawn, marks = [], [], []
        for number, page in enumerate(_pages(document)):
            pages.append(_lines(page))
            if page is not None and _is_drawn(page, pages[-1]):
                drawn.append(number)
            marks.append(list(_images(page, figures)) if figures and page is not None else [])
        texts = [
            "\n\n".join(filter(None, [text, *shown])) for text, shown in zip(_with_headings(pages), marks, strict=True)
        ]
        return Content(texts, _properties(document), drawn=tuple(drawn))
    finally:
        document.close()


def draw(data: bytes, pages: Sequence[int]) -> Iterator["Pixels"]:
    """Yield the pixels of some pages, blue first."""
    document = pypdfium2.PdfDocument(data)
    try:
        for number in pages:
            page = document[number]
            scale = min(_DOTS / 72, scale_for(*page.get_size()))
            yield page.render(scale=scale).to_numpy().copy()
            page.close()
    finally:
        document.close()


def _pages(document: pypdfium2.PdfDocument) -> Iterator[pypdfium2.PdfPage | None]:
    """Yield the pages; a damaged one is None, so that the others keep their numbers."""
    for number in range(len(document)):
        try:
            page = document[number]
        except pypdfium2.PdfiumError:
            yield None
        else:
            yield page
            page.close()


def _images(page: pypdfium2.PdfPage, figures: "Figures") -> Iterator[str]:
    """Yield a placeholder for each image above the size limit on a page."""
    for found in islice(page.get_objects(), _MOST_OBJECTS):
        if found.type != pdfium.FPDF_PAGEOBJ_IMAGE:
            continue
        left, bottom, right, top = found.get_bounds()
        width, height = found.get_px_size()
        if min(right - left, top - bottom) < _SMALL or width * height > MOST_PIXELS:
            continue
        target = io.BytesIO()
        try:
            found.extract(target)
        except (pypdfium2.PdfiumError, ValueError):  # PDFium cannot decode it, or it has too few bytes for its size
            continue
        if mark := figures.mark(target.getvalue()):
            yield mark


def _is_drawn(page: pypdfium2.PdfPage, lines: list[_Line]) -> bool:
    """Return True if the text of a page is in its images: it has none, or only a little over images that cover it."""
    written = sum(len(line.text) for line in lines)
    if written > _STAMP:
        return False
    objects = islice(page.get_objects(), _MOST_OBJECTS)
    if not written:
        return any(True for _ in objects)
    width, height = page.get_size()
    bounds = (one.get_bounds() for one in objects if one.type == pdfium.FPDF_PAGEOBJ_IMAGE)
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in bounds)
    return bool(covered > _COVERED * width * height)


def _lines(page: pypdfium2.PdfPage | None) -> list[_Line]:
    if page is None:
        return []
    textpage = page.get_textpage()
    try:
        text = textpage.get_text_range()
        # Characters of two UTF-16 units make places in the text differ from PDFium's own numbers.
        if len(text) != textpage.count_chars():
            return [_Line(line.strip()) for line in _BREAK.split(_HYPHEN.sub("", text))]
        return list(_with_tables(text, find_tables(page, textpage), textpage))
    finally:
        textpage.close()


def _with_tables(text: str, tables: list[RuledTable], textpage: pypdfium2.PdfTextPage) -> Iterator[_Line]:
    """Yield the lines of a page, and each table at the place of its first character."""
    begins = {min(table.characters): table for table in tables}
    inside = frozenset[int]().union(*(table.characters for table in tables))
    start = 0
    for line in text.split("\r\n"):
        places = range(start, start + len(line))
        yield from (_Line(f"\n{begins[place].markdown}\n") for place in places if place in begins)
        left = [place for place in places if place not in inside] if inside else places
        rest = "".join(text[place] for place in left) if inside else line
        first = next((place for place in left if not text[place].isspace()), None)
        if first is not None or not line.strip():
            yield _Line(as_markdown_item(rest.strip()), *(() if first is None else _size_and_height(textpage, first)))
        start += len(line) + 2


def _size_and_height(textpage: pypdfium2.PdfTextPage, character: int) -> tuple[float, float]:
    """Return the size of a character on the page, and the height of its line. Points."""
    matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
    size = float(pdfium.FPDFText_GetFontSize(textpage, character))
    if pdfium.FPDFText_GetMatrix(textpage, character, ctypes.byref(matrix)):
        size *= math.hypot(matrix.c, matrix.d)
    pdfium.FPDFText_GetCharOrigin(textpage, character, ctypes.byref(x), ctypes.byref(y))
    return round(size, 1), y.value


def _with_headings(pages: list[list[_Line]]) -> list[str]:
    """Return the texts of pages: neighbouring lines in one larger size are a heading, wider gaps divide paragraphs."""
    levels = _levels([line for lines in pages for line in lines])
    gaps = Counter((line.size, round(gap)) for lines in pages for line, gap in _gaps(lines) if gap > 0)
    usual: dict[float, int] = {}
    for (size, gap), _ in gaps.most_common():
        usual.setdefault(size, gap)
    return [_HYPHEN.sub("", "\n".join(_page(lines, levels, usual))) for lines in pages]


def _gaps(lines: list[_Line]) -> Iterator[tuple[_Line, float]]:
    """Yield each line, and its distance below the line before, if both have one size; else 0. Points."""
    for before, line in pairwise([_Line(""), *lines]):
        yield line, before.height - line.height if before.size == line.size > 0 else 0.0


def _page(lines: list[_Line], levels: dict[float, int], usual: dict[float, int]) -> Iterator[str]:
    for size, group in groupby(_gaps(lines), key=lambda found: found[0].size):
        texts = []
        for line, gap in group:
            texts += ["", line.text] if gap > _WIDER * usual.get(size, gap) else [line.text]
        whole = " ".join(filter(None, texts))
        if size in levels and len(whole) <= _LONGEST_HEADING and any(map(str.isalpha, whole)):
            yield f"\n{'#' * levels[size]} {whole}\n"
        else:
            yield from texts


def _levels(lines: list[_Line]) -> dict[float, int]:
    """Return the level of the headings in each size that is larger than that of most of the text."""
    written: Counter[float] = Counter()
    for line in lines:
        if line.size:
            written[line.size] += len(line.text)
    if not written:
        return {}
    usual = max(written, key=lambda size: (written[size], size))
    larger = sorted((size for size in written if size >= _LARGER * usual), reverse=True)
    headings = sum(line.size in larger for line in lines)
    if headings > _MOST_HEADINGS * sum(line.size > 0 for line in lines):
        return {}
    return {size: min(level, _LEVELS) for level, size in enumerate(larger, start=1)}


def _properties(document: pypdfium2.PdfDocument) -> Properties:
    said = document.get_metadata_dict(skip_empty=True)
    title = _PROGRAM.sub("", said.get("Title", ""))
    return make_properties(title, said.get("Author"), said.get("CreationDate"), said.get("Keywords"))
