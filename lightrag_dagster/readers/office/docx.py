"""Word documents, by mammoth: headings, lists, tables, notes, text boxes and comments, without headers and footers."""

import io
from functools import partial
from typing import Any

import mammoth

from lightrag_dagster.readers.content import Content, UnreadableError, bounded, unread_attachments
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import by_kind, embedded, open_archive, read_properties, relations
from lightrag_dagster.readers.office.word.marks import fill_places
from lightrag_dagster.readers.office.word.prepare import prepare

_CODE = ("Source Code", "Preformatted Text", "HTML Preformatted", "Code")  # of pandoc, LibreOffice, Word, and people
_STYLES = "\n".join(
    (
        "p[style-name='Title'] => h1:fresh",
        *(f"p[style-name='{name}'] => pre:separator('\\n')" for name in _CODE),
        # mammoth's own rules end at the fifth level of a list
        *(
            f"p:{kind}-list({level}) => {'ul|ol > li > ' * (level - 1)}{tag} > li:fresh"
            for level in range(6, 10)
            for kind, tag in (("unordered", "ul"), ("ordered", "ol"))
        ),
    )
)
_MOST_IMPORTED = 3  # documents in each other


def read(data: bytes, figures: Figures | None = None, _imported: int = 0) -> Content:
    """Read a .docx file; its images are put into `figures`, or else become captions."""
    if _imported > _MOST_IMPORTED:
        raise UnreadableError("too many documents in each other")
    with open_archive(data, "[Content_Types].xml") as archive:
        core = by_kind(relations(archive, "")).get("core-properties", "docProps/core.xml")
        properties = read_properties(archive, core)
        attached = unread_attachments(embedded(archive))
        prepared = prepare(archive, partial(read, _imported=_imported + 1))
        images = mammoth.images.img_element(partial(_image, figures))
        page = mammoth.convert_to_html(io.BytesIO(prepared.data), style_map=_STYLES, convert_image=images).value
    text = fill_places(to_markdown(page), prepared.texts)
    hidden = [f"hidden text is left out: {prepared.hidden} words"] if prepared.hidden else []
    return Content(
        "\n\n".join(filter(None, (text.strip(), prepared.comments))),
        properties,
        note="; ".join((*hidden, *bounded(prepared.notes), *attached)) or None,
        left_out=tuple(prepared.left_out),
    )


def _image(figures: Figures | None, image: Any) -> dict[str, str]:
    if figures is None:
        return {"src": ""}
    try:
        with image.open() as file:
            return {"src": figures.name_of(file.read()) or ""}
    except Exception:  # an image outside of the file, or a missing one, costs only itself
        return {"src": ""}
