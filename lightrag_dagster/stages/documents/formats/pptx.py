"""Presentations, by python-pptx: a page a slide, under the title of the slide, with tables and the speaker's notes."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation

from lightrag_dagster.stages.documents.formats.archive import open_archive, read_properties
from lightrag_dagster.stages.documents.formats.content import Content
from lightrag_dagster.stages.documents.formats.tables import markdown_table


def read(data: bytes) -> Content:
    """Read the slides of a .pptx file."""
    with open_archive(data, "ppt/presentation.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        slides = Presentation(io.BytesIO(data)).slides
        return Content([_slide(number, slide) for number, slide in enumerate(slides, start=1)], properties)


def _slide(number: int, slide: Any) -> str:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    parts = list(_texts(slide.shapes, leave_out=title.shape_id if title is not None else None))
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        parts.append(f"Notes: {notes.text.strip()}")
    # A slide without a title would be under that of the slide before.
    return "\n\n".join([f"## {heading or f'Slide {number}'}", *parts]) if heading or parts else ""


def _texts(shapes: Iterable[Any], leave_out: int | None = None) -> Iterator[str]:
    for shape in shapes:
        if shape.shape_id == leave_out:
            continue
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)
        elif shape.has_table:
            yield markdown_table([cell.text for cell in row.cells] for row in shape.table.rows)
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield _paragraphs(shape)


def _paragraphs(shape: Any) -> str:
    """Return the paragraphs of a shape, as a list where they are the points of a slide."""
    is_list = shape.is_placeholder and len(shape.text_frame.paragraphs) > 1
    lines = []
    for paragraph in shape.text_frame.paragraphs:
        if text := " ".join(paragraph.text.split()):
            lines.append(f"{'  ' * paragraph.level}- {text}" if is_list else text)
    return "\n".join(lines)
