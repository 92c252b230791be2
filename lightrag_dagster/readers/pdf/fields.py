"""Fields of a PDF form: their values follow their labels, as a person filled them in."""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from lightrag_dagster.readers.inline import check_box
from lightrag_dagster.readers.pdf.annotations import find_annotations, text_by
from lightrag_dagster.readers.pdf.characters import PageCharacters

_BOXES = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_TEXTS = (pdfium.FPDF_FORMFIELD_TEXTFIELD, *_CHOICES)
_MOST_OPTIONS = 1_000
_LABEL = 250.0  # points to a label beside the field at the most
_ABOVE = 2.0  # points, by which its middle may be above or below the field
_INTO = 4.0  # points by which a label may reach into its field


class Field(NamedTuple):
    """A field's name, what is written or chosen in it, whether it is a box, and its place. Points, from below."""

    name: str
    value: str
    is_box: bool
    left: float
    bottom: float
    right: float
    top: float

    @property
    def line(self) -> str:
        """The field as a line, for one without a label in the text."""
        return f"{self.name}: {self.value}" if self.name else self.value


def open_form(document: pypdfium2.PdfDocument) -> bool:
    """Return True if a document has a form, whose fields can be read then; to be called before its pages are."""
    logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # it warns that it leaves the scripts of forms alone
    try:
        return bool(document.init_forms())
    except pypdfium2.PdfiumError:
        return False


def find_fields(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[Field]:
    """Yield the fields of a page that say something: filled ones, and boxes, checked or not; no passwords."""
    form, box = document.formenv, pdfium.FS_RECTF()
    for kind, handle in find_annotations(page):
        if kind != pdfium.FPDF_ANNOT_WIDGET:
            continue
        field = pdfium.FPDFAnnot_GetFormFieldType(form, handle)
        is_box = field in _BOXES
        value = ""
        if is_box:
            value = check_box(pdfium.FPDFAnnot_IsChecked(form, handle) == 1)
        elif field in _TEXTS:
            value = _written(form, handle, field)
        if value and pdfium.FPDFAnnot_GetRect(handle, box):
            name = _text(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, handle) or _text(
                pdfium.FPDFAnnot_GetFormFieldName, form, handle
            )
            yield Field(name, value, is_box, box.left, box.bottom, box.right, box.top)


def _written(form: Any, handle: object, field: int) -> str:
    if pdfium.FPDFAnnot_GetFormFieldFlags(form, handle) & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD and field not in _CHOICES:
        return ""
    if field in _CHOICES:  # the value may be a code, and the label is what people see
        count = min(pdfium.FPDFAnnot_GetOptionCount(form, handle), _MOST_OPTIONS)
        chosen = [one for one in range(count) if pdfium.FPDFAnnot_IsOptionSelected(form, handle, one)]
        labels = (text_by(partial(pdfium.FPDFAnnot_GetOptionLabel, form, handle, one)) for one in chosen)
        if said := ", ".join(filter(None, labels)):
            return said
    return _text(pdfium.FPDFAnnot_GetFormFieldValue, form, handle)


def _text(function: Any, form: object, handle: object) -> str:
    return text_by(partial(function, form, handle))


def _middle(box: tuple[int, tuple[float, float, float, float]]) -> float:
    return (box[1][1] + box[1][3]) / 2


def place_fields(fields: list[Field], characters: PageCharacters) -> list[Field]:
    """Put the values of fields next to their labels; return those without one."""
    without, beside = [], []
    boxes = sorted(characters.boxes(), key=_middle) if fields else []
    for field in fields:
        before, after, far, near = None, None, _LABEL, _LABEL
        begin = bisect_left(boxes, field.bottom - _ABOVE, key=_middle)
        end = bisect_right(boxes, field.top + _ABOVE, key=_middle)
        for number, (left, _, right, _) in boxes[begin:end]:
            if right <= field.left + _INTO and field.left - right < far:
                before, far = number, field.left - right
            elif left >= field.right - _INTO and left - field.right < near:
                after, near = number, left - field.right
        # The label of a box stands to its right as often as to its left.
        if field.is_box and after is not None and near < far:
            beside.append((near, after, f"{field.value} ", True))
        elif before is not None:
            beside.append((far, before, f" {field.value}", False))
        elif not field.is_box or field.value == check_box(True):
            without.append(field)
    for _, number, text, is_ahead in sorted(beside):  # of several at one label the nearest first
        characters.add(number, text, before=is_ahead)
    return without
