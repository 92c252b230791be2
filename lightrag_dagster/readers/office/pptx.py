"""Presentations, by python-pptx: a page per slide, under its title, with tables, charts and the speaker's notes."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree
from pptx import Presentation

from lightrag_dagster.readers.content import Content, unread_attachments
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import alternative_text, as_hidden, no_heading
from lightrag_dagster.readers.office.archive import embedded, open_archive, read_properties
from lightrag_dagster.readers.office.charts import chart_text, diagram_text
from lightrag_dagster.readers.office.slides.order import Box, reading_order
from lightrag_dagster.readers.office.slides.running import RunningTexts
from lightrag_dagster.readers.office.slides.texts import comments, lines, prepare, table_text, text_of

_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the slides of a .pptx file; their pictures are put into `figures`."""
    with open_archive(data, "ppt/presentation.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        slides = list(Presentation(io.BytesIO(data)).slides)
        running = RunningTexts(slides)
        texts = [_slide(number, slide, running, figures) for number, slide in enumerate(slides, start=1)]
        note = "; ".join(unread_attachments(embedded(archive))) or None
        return Content(texts, properties, note=note, left_out=tuple(running.left_out))


def _slide(number: int, slide: Any, running: RunningTexts, figures: Figures | None) -> str:
    title = slide.shapes.title
    heading = text_of(title, " ") if title is not None else ""
    # By element, since several shapes may have one identifier.
    shapes = [shape for shape in running.without(slide.shapes) if title is None or shape._element is not title._element]
    parts = [*_texts(shapes, figures), *_notes(slide, running), *(f"Comment: {text}" for text in comments(slide))]
    if not heading and not parts:
        return ""
    hidden = " (hidden)" if slide._element.get("show") in ("0", "false") else ""
    # A slide without a title would be under that of the slide before.
    return "\n\n".join([f"## {heading or f'Slide {number}'}{hidden}", *parts])


def _texts(shapes: Iterable[Any], figures: Figures | None) -> list[str]:
    """Return the texts of shapes in reading order."""
    found = [(_box(shape), text) for shape in shapes if (text := _shape(shape, figures))]
    return [found[number][1] for number in reading_order([box for box, _ in found])]


def _box(shape: Any) -> Box | None:
    """Return the place of a shape; None for a placeholder that its layout places."""
    element = shape._element
    return None if element.x is None else Box(element.x, element.y, element.cx or 0, element.cy or 0)


def _shape(shape: Any, figures: Figures | None) -> str:
    """Return the text of a shape; one that is hidden is marked."""
    is_hidden = shape._element._nvXxPr.cNvPr.get("hidden") in ("1", "true")
    return as_hidden(_shown(shape, figures)) if is_hidden else _shown(shape, figures)


def _shown(shape: Any, figures: Figures | None) -> str:
    if hasattr(shape, "shapes"):
        return "\n\n".join(_texts(shape.shapes, figures))
    if image := _image(shape):
        caption = alternative_text(shape._element._nvXxPr.cNvPr.get("descr") or "")
        return figures.mark(image, caption) if figures else caption
    if shape.has_table:
        return table_text(shape.table)
    if drawn := _chart_or_diagram(shape):
        return drawn
    return _paragraphs(shape) if shape.has_text_frame else ""


def _notes(slide: Any, running: RunningTexts) -> Iterator[str]:
    """Yield the speaker's notes, and the texts of other shapes on their page."""
    page = slide.notes_slide if slide.has_notes_slide else None
    if page is None:
        return
    prepare(page._element)
    notes = page.notes_placeholder
    others = [one for one in running.without(page.shapes) if notes is None or one._element is not notes._element]
    said = text_of(notes) if notes is not None else ""
    if text := "\n\n".join(filter(None, [said, *_texts(others, None)])):
        yield f"Notes: {text}"


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
    found = lines(shape.text_frame)
    return "\n".join(f"{'  ' * level}- {text}" if is_list else no_heading(text) for level, text in found)
