"""Presentations, by python-pptx: a page per slide, under its title, with tables, charts and the speaker's notes."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree
from pptx import Presentation

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import open_archive, read_properties
from lightrag_dagster.readers.office.charts import chart_text, diagram_text
from lightrag_dagster.readers.office.office_formulas import in_office
from lightrag_dagster.readers.plain.tables import markdown_table

_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_WITH_TEXT = r"ppt/(slides|notesSlides)/[^/]+\.xml"


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the slides of a .pptx file; their pictures are put into `figures`."""
    with open_archive(data, "ppt/presentation.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        slides = Presentation(io.BytesIO(in_office(archive, data, _WITH_TEXT))).slides
        texts = [_slide(number, slide, figures) for number, slide in enumerate(slides, start=1)]
        return Content(texts, properties)


def _slide(number: int, slide: Any, figures: Figures | None) -> str:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    parts = list(_texts(slide.shapes, figures, leave_out=title.shape_id if title is not None else None))
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        parts.append(f"Notes: {notes.text.strip()}")
    # A slide without a title would be under that of the slide before.
    return "\n\n".join([f"## {heading or f'Slide {number}'}", *parts]) if heading or parts else ""


def _texts(shapes: Iterable[Any], figures: Figures | None, leave_out: int | None = None) -> Iterator[str]:
    for shape in shapes:
        if shape.shape_id == leave_out:
            continue
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes, figures)
        elif figures is not None and (image := _image(shape)):
            yield figures.mark(image, shape._element._nvXxPr.cNvPr.get("descr") or "")
        elif shape.has_table:
            yield markdown_table([cell.text for cell in row.cells] for row in shape.table.rows)
        elif drawn := _chart_or_diagram(shape):
            yield drawn
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield _paragraphs(shape)


def _image(shape: Any) -> bytes | None:
    """Return the image of a picture; None for another shape, or if the image is not in the file."""
    try:
        return bytes(shape.image.blob)
    except (AttributeError, KeyError, ValueError):
        return None


def _chart_or_diagram(shape: Any) -> str:
    """Return the text of a shape's chart or diagram; "" if it has none, or none in the file."""
    try:
        if shape.has_chart:
            return chart_text(shape.chart_part._element)
        reference = next(shape._element.iter(_DIAGRAM), None)
        if reference is None:
            return ""
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        return diagram_text(etree.fromstring(shape.part.related_part(reference.get(_DATA)).blob, parser))
    except (KeyError, ValueError, etree.XMLSyntaxError):  # a broken chart costs only itself
        return ""


def _paragraphs(shape: Any) -> str:
    """Return the paragraphs of a shape, as a list if they are the points of a slide."""
    is_list = shape.is_placeholder and len(shape.text_frame.paragraphs) > 1
    lines = []
    for paragraph in shape.text_frame.paragraphs:
        if text := " ".join(paragraph.text.split()):
            lines.append(f"{'  ' * paragraph.level}- {text}" if is_list else text)
    return "\n".join(lines)
