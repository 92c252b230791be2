"""PDF, by PDFium: the text of every page in its order, with lines in larger type as headings."""

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING

import pypdfium2
import pypdfium2.raw as pdfium

from lightrag_dagster.readers.content import (
    Content,
    Properties,
    UnreadableError,
    first_few,
    make_properties,
    unread_attachments,
)
from lightrag_dagster.readers.images.ocr import scale_for
from lightrag_dagster.readers.images.pixels import MOST_PIXELS
from lightrag_dagster.readers.office.archive import DAMAGED
from lightrag_dagster.readers.pdf.annotations import find_attachments, find_comments
from lightrag_dagster.readers.pdf.fields import find_fields, open_form
from lightrag_dagster.readers.pdf.headings import with_headings
from lightrag_dagster.readers.pdf.lines import Line, PageLines, lines_of
from lightrag_dagster.readers.pdf.places import Places
from lightrag_dagster.readers.pdf.plain import remember
from lightrag_dagster.readers.pdf.repeated import find_repeated

if TYPE_CHECKING:
    from lightrag_dagster.readers.images.figures import Figures
    from lightrag_dagster.readers.images.ocr import Pixels

_OFF = re.compile(rb"/OFF\s*\[\s*\d+ \d+ R")  # layers
_OBJECTS = re.compile(rb"/ObjStm.{0,200}?stream\r?\n", re.DOTALL)
_LONGEST = 1_000_000  # bytes of objects
_PROGRAM = re.compile(r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )+")
_STAMP = 60  # characters that programs put on a scanned page, such as its number
_WORD = 8  # letters beside stamps that repeat
_BOX = 5  # segments of a path that is a line or a box
_COVERED = 0.6  # share of a page under images
_MOST_OBJECTS = 10_000  # of a page that are looked at
_SAMPLE = 500  # characters of a turned page that are looked at
_SMALL = 36  # points; a side of an image that is decoration
_DOTS = 200  # dots per inch of a drawn page


def read(data: bytes, figures: "Figures | None" = None, *, keep_repeated_lines: bool = False) -> Content:
    """Read the text of every page; its comments follow, then its images, which are put into `figures`.

    Headers and footers are left out, unless `keep_repeated_lines`.
    """
    document = _open(data)
    try:
        has_form = open_form(document)
        pages, bounds, lost, beside, unknown = list[list[Line]](), [], [], [], []
        replaced, plain = list[str](), list[str]()
        attached, outside = list(find_attachments(document)), list[str]()
        for number, page in enumerate(open_pages(document)):
            found = PageLines([])
            shown = list[str]()
            if page is not None:
                found = lines_of(page, list(find_fields(document, page)) if has_form else [])
                found, away = _within(found, page.get_bbox())
                outside += away
                attached += find_attachments(document, page)
                comments = list(find_comments(page))
                shown += [comment.line for comment in comments]
                plain += [*found.plain, *(comment.text for comment in comments)]
                shown += _images(page, figures) if figures else []
            pages.append(found.lines)
            replaced += found.replaced
            bounds.append(page.get_bbox()[1::2] if page is not None else (0.0, 0.0))
            beside.append(shown)
            lost += [number] * found.is_lost
            unknown += [number + 1] * found.is_unknown
        repeated = find_repeated(pages, bounds)
        drawn = {*lost, *_find_drawn(document, pages, repeated)}
        pages, left_out = _without(pages, [] if keep_repeated_lines else repeated)
        texts = [
            "\n\n".join(filter(None, parts))
            for parts in zip(with_headings(pages), map("\n\n".join, beside), strict=True)
        ]
        remember(data, plain)
        return Content(
            texts,
            _properties(document),
            drawn=tuple(sorted(drawn)),
            note="; ".join([*_notes(data, left_out, outside, unknown), *unread_attachments(attached)]) or None,
            left_out=(*left_out, *outside, *replaced),
        )
    finally:
        document.close()


def _open(data: bytes) -> pypdfium2.PdfDocument:
    """Open a document; raises UnreadableError with the reason why it cannot be."""
    if not data:
        raise UnreadableError("the file is empty: it has 0 bytes")
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise UnreadableError("protected by a password; save a copy without it") from error
        what = DAMAGED if b"%PDF-" in data[:1024] else "not what its suffix says: no PDF; give the file its own suffix"
        raise UnreadableError(what) from error


def _without(pages: list[list[Line]], repeated: list[set[int]]) -> tuple[list[list[Line]], list[str]]:
    """Return the pages without some lines, and the texts of these; all lines, if none would be left."""
    if not any(repeated):
        return pages, []
    kept = [
        [line for number, line in enumerate(lines) if number not in left_out]
        for lines, left_out in zip(pages, repeated, strict=True)
    ]
    if not any(line.text.strip() for lines in kept for line in lines):
        return pages, []
    return kept, [
        lines[number].text for lines, left_out in zip(pages, repeated, strict=True) for number in sorted(left_out)
    ]


def _within(found: PageLines, box: tuple[float, float, float, float]) -> tuple[PageLines, list[str]]:
    """Return the lines of a page that are in its box, also in part, and the texts of others; all lines, if none do."""
    left, bottom, right, top = box
    kept, away = list[Line](), list[str]()
    for one in found.lines:
        end = one.left + one.size * len(one.text) / 2
        is_in = left < end and one.left < right and bottom - one.size < one.height < top
        if is_in or not one.size:
            kept.append(one)
        else:
            away.append(one.text)
    return (found._replace(lines=kept), away) if any(one.text.strip() for one in kept) else (found, [])


def _has_layers_off(data: bytes) -> bool:
    """Return True if a file has layers that are switched off, also in a stream of objects."""
    if _OFF.search(data):
        return True
    for found in islice(_OBJECTS.finditer(data), _MOST_OBJECTS):
        with suppress(zlib.error):  # a stream stored otherwise, or encrypted: of its layers nothing is known
            if _OFF.search(zlib.decompressobj().decompress(memoryview(data)[found.end() :], _LONGEST)):
                return True
    return False


def _notes(data: bytes, left_out: list[str], outside: list[str], unknown: list[int]) -> Iterator[str]:
    if left_out:
        yield f"{len(left_out)} lines of headers and footers are left out; documents.keep_repeated_lines keeps them"
    if outside:
        yield f"{len(outside)} lines outside of the visible page are left out"
    if _has_layers_off(data):
        yield "the text of layers that are switched off is read too"
    if unknown:
        yield f"fonts do not say which characters they show: text is wrong or missing on pages {first_few(unknown)}"


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


def open_pages(document: pypdfium2.PdfDocument) -> Iterator[pypdfium2.PdfPage | None]:
    """Yield the pages as they are shown; a damaged one is None, so that the others keep their numbers."""
    for number in range(len(document)):
        try:
            page = document[number]
            if (angle := page.get_rotation()) and _turn(page, angle):
                page.close()
                page = document[number]
        except pypdfium2.PdfiumError:
            yield None
        else:
            yield page
            page.close()


def _turn(page: pypdfium2.PdfPage, angle: int) -> bool:
    """Turn the content of a page in place of the page, so that places are as they are shown; it has to be opened again.

    Return False for a page whose text runs from left to right as it is.
    """
    textpage = page.get_textpage()
    places, count = Places(textpage), textpage.count_chars()
    sample = range(0, count, max(1, count // _SAMPLE))
    is_level = 2 * sum(map(places.is_level, sample)) >= len(sample)
    textpage.close()
    left, bottom, right, top = page.get_bbox()
    matrix = {90: (0, -1, 1, 0, -bottom, right), 180: (-1, 0, 0, -1, right, top), 270: (0, 1, -1, 0, top, -left)}[angle]
    if is_level or not pdfium.FPDFPage_TransFormWithClip(page, pdfium.FS_MATRIX(*matrix), None):
        return False
    pdfium.FPDFPage_TransformAnnots(page, *matrix)
    size = page.get_size()
    page.set_rotation(0)
    page.set_mediabox(0, 0, *size)
    page.set_cropbox(0, 0, *size)
    return True


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


def _find_drawn(document: pypdfium2.PdfDocument, pages: list[list[Line]], repeated: list[set[int]]) -> Iterator[int]:
    """Yield the numbers of pages whose text is in their images.

    They have none, but shapes that may be letters, or only a little over images that cover them; lines that repeat are
    stamps where nearly no letters of its own are beside them. In a file without any text, all shapes may be letters.
    """
    has_text = any(line.text.strip() for lines in pages for line in lines)
    for number, (lines, others) in enumerate(zip(pages, repeated, strict=True)):
        text = "".join(line.text for line in lines)
        own = "".join(line.text for place, line in enumerate(lines) if place not in others)
        if len(text) <= _STAMP or (len(own) <= _STAMP and sum(map(str.isalpha, own)) < _WORD):
            with suppress(pypdfium2.PdfiumError), closing(document[number]) as page:  # a damaged page
                if _is_covered(page) if text else any(_has_shape(one) or not has_text for one in page.get_objects()):
                    yield number


def _has_shape(found: pypdfium2.PdfObject) -> bool:
    """Return True for all but lines, boxes and blanks, which a page that was left empty may have."""
    if found.type == pdfium.FPDF_PAGEOBJ_PATH:
        return bool(pdfium.FPDFPath_CountSegments(found) > _BOX)
    _, bottom, _, top = found.get_bounds() if found.type == pdfium.FPDF_PAGEOBJ_TEXT else (0, 0, 1, 1)
    return bool(top > bottom)


def _is_covered(page: pypdfium2.PdfPage) -> bool:
    width, height = page.get_size()
    objects = islice(page.get_objects(), _MOST_OBJECTS)
    bounds = (one.get_bounds() for one in objects if one.type == pdfium.FPDF_PAGEOBJ_IMAGE)
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in bounds)
    return bool(covered > _COVERED * width * height)


def _properties(document: pypdfium2.PdfDocument) -> Properties:
    said = document.get_metadata_dict(skip_empty=True)
    title = _PROGRAM.sub("", said.get("Title", ""))
    return make_properties(title, said.get("Author"), said.get("CreationDate"), said.get("Keywords"))
