"""Word documents, by mammoth: headings, lists, tables, notes and text boxes, without page headers and footers."""

import io

import mammoth

from lightrag_dagster.stages.documents.formats.archive import open_archive, read_properties
from lightrag_dagster.stages.documents.formats.content import Content
from lightrag_dagster.stages.documents.formats.markup import to_markdown

_STYLES = "p[style-name='Title'] => h1:fresh"


def read(data: bytes) -> Content:
    """Read a .docx file."""
    with open_archive(data, "word/document.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        # Images would become part of the page; their captions are enough.
        images = mammoth.images.img_element(lambda image: {"src": ""})
        page = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=images).value
    return Content(to_markdown(page), properties)
