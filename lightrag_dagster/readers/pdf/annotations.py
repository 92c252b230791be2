"""Annotations of PDF pages, and those that are comments of readers; attachments."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

_MOST = 10_000  # annotations of a page
_LONGEST = 1_000_000  # bytes of a text
_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_TYPED = pdfium.FPDF_ANNOT_FREETEXT
_COMMENTS = {
    _TYPED,
    pdfium.FPDF_ANNOT_TEXT,
    pdfium.FPDF_ANNOT_LINE,
    pdfium.FPDF_ANNOT_SQUARE,
    pdfium.FPDF_ANNOT_CIRCLE,
    pdfium.FPDF_ANNOT_POLYGON,
    pdfium.FPDF_ANNOT_POLYLINE,
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
    pdfium.FPDF_ANNOT_STAMP,
    pdfium.FPDF_ANNOT_CARET,
    pdfium.FPDF_ANNOT_INK,
}


class Comment(NamedTuple):
    """A comment of a reader, or text that was typed on the page, and its author if it names one."""

    text: str
    author: str
    is_typed: bool

    @property
    def line(self) -> str:
        """The comment as a paragraph."""
        by = f" by {self.author}" if self.author else ""
        return self.text if self.is_typed else f"Comment{by}: {self.text}"


def find_annotations(page: pypdfium2.PdfPage) -> Iterator[tuple[int, Any]]:
    """Yield the kind and the handle of each annotation that is shown on a page."""
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST)):
        handle = pdfium.FPDFPage_GetAnnot(page, number)
        if not handle:
            continue
        try:
            if not pdfium.FPDFAnnot_GetFlags(handle) & _HIDDEN:
                yield pdfium.FPDFAnnot_GetSubtype(handle), handle
        finally:
            pdfium.FPDFPage_CloseAnnot(handle)


def find_comments(page: pypdfium2.PdfPage) -> Iterator[Comment]:
    """Yield the comments of a page that have a text, in their order in the file."""
    for kind, handle in find_annotations(page):
        if kind in _COMMENTS and (text := _value(handle, b"Contents")):
            yield Comment(text, _value(handle, b"T"), kind == _TYPED)


def find_attachments(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage | None = None) -> Iterator[str]:
    """Yield the names of the files that are attached to a document, or to a place on a page."""
    if page is None:
        count = min(pdfium.FPDFDoc_GetAttachmentCount(document), _MOST)
        handles = [pdfium.FPDFDoc_GetAttachment(document, number) for number in range(count)]
        yield from map(_name, filter(None, handles))
        return
    for kind, handle in find_annotations(page):
        if kind == pdfium.FPDF_ANNOT_FILEATTACHMENT and (file := pdfium.FPDFAnnot_GetFileAttachment(handle)):
            yield _name(file)


def _name(file: object) -> str:
    return text_by(lambda buffer, length: int(pdfium.FPDFAttachment_GetName(file, buffer, length))) or "unnamed"


def text_by(call: Callable[[Any, int], int]) -> str:
    """Return the text that a function of PDFium writes as UTF-16 into a buffer, on one line."""
    length = call(None, 0)
    if not 2 < length <= _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(length)
    call(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return " ".join(buffer.raw.decode("utf-16-le", "replace").rstrip("\0").split())


def _value(handle: object, key: bytes) -> str:
    return text_by(lambda buffer, length: int(pdfium.FPDFAnnot_GetStringValue(handle, key, buffer, length)))
