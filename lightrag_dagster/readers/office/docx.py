"""Word documents, by mammoth: headings, lists, tables, notes and text boxes, without page headers and footers."""

import io
from functools import partial
from typing import Any

import mammoth

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import open_archive, read_properties
from lightrag_dagster.readers.office.office_formulas import in_office

_WITH_TEXT = r"word/(document|footnotes|endnotes)\.xml"
_STYLES = "p[style-name='Title'] => h1:fresh"


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read a .docx file; its images are put into `figures`, or else become captions."""
    with open_archive(data, "word/document.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        images = mammoth.images.img_element(partial(_image, figures))
        file = io.BytesIO(in_office(archive, data, _WITH_TEXT))
        page = mammoth.convert_to_html(file, style_map=_STYLES, convert_image=images).value
    return Content(to_markdown(page), properties)


def _image(figures: Figures | None, image: Any) -> dict[str, str]:
    if figures is None:
        return {"src": ""}
    try:
        with image.open() as file:
            return {"src": figures.name_of(file.read()) or ""}
    except Exception:  # an image outside of the file, or a missing one, costs only itself
        return {"src": ""}
