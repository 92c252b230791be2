"""OpenDocument texts: headings, lists, tables, notes and comments, without page headers and footers."""

import zipfile
from functools import partial

from lightrag_dagster.readers.content import Content, UnreadableError, unread_attachments
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import DAMAGED, open_archive, parse_part, read_properties
from lightrag_dagster.readers.office.open_document.drawings import Drawings
from lightrag_dagster.readers.office.open_document.forms import form_values
from lightrag_dagster.readers.office.open_document.page import Page
from lightrag_dagster.readers.office.open_document.styles import Styles

_CONTENT, _STYLES, _MANIFEST = "content.xml", "styles.xml", "META-INF/manifest.xml"

_TABLE = b"<office:spreadsheet"


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read an .odt file; its images are put into `figures`, or else become captions."""
    with open_archive(data, _CONTENT) as archive:
        if _MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST):
            raise UnreadableError("protected by a password; save a copy without it")
        properties = read_properties(archive, "meta.xml")
        content = parse_part(archive, _CONTENT)
        body = content.find("{*}body")
        if body is None:
            raise UnreadableError(DAMAGED)
        shared = [parse_part(archive, _STYLES)] if _STYLES in archive.namelist() else []
        page = Page(Styles([*shared, content]), Drawings(archive, form_values(body)))
        text = to_markdown(page.write(body), figure_of=partial(_figure, archive, figures))
        hidden = len(page.hidden)
        notes = [f"hidden text is left out: {hidden} words"] if hidden else []
        if page.not_repeated:
            notes.append(f"{page.not_repeated} repeated rows and cells of tables are left out")
        tables = [part.split("/")[0] for part in archive.namelist() if part.endswith(f"/{_CONTENT}")]
        notes += unread_attachments([one for one in tables if _TABLE in archive.read(f"{one}/{_CONTENT}")])
        return Content(
            text.strip(),
            properties,
            why_empty="all of its text is hidden" if hidden else None,
            note="; ".join(notes) or None,
            left_out=tuple(page.left_out),
        )


def _figure(archive: zipfile.ZipFile, figures: Figures | None, place: str) -> str | None:
    """Return the name of the figure for a part of the archive."""
    return figures.name_of(archive.read(place)) if figures and place in archive.namelist() else None
