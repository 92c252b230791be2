"""OpenDocument texts, by odfdo."""

import io
import re
import zipfile
from functools import partial

from odfdo import Document

from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import open_archive, parse_part, read_properties
from lightrag_dagster.readers.office.office_formulas import in_open_document

_ESCAPE = re.compile(r"\\([-_*.#+!\[\](){}<>`~])")
# Images as the library writes them; text that only looks like one has escapes.
_IMAGE = re.compile(r"!\[([^\n]*?)\]\(([^()\n]*)\)")
_PADDING = re.compile(r" {2,}|-{4,}")


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read an .odt file; its images are put into `figures`, or else become captions."""
    with open_archive(data, "content.xml") as archive:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
            raise UnreadableError("protected by a password; save a copy without it")
        properties = read_properties(archive, "meta.xml")
        parse_part(archive, "content.xml")  # reports a damaged file, which the library would ignore
        document = Document(io.BytesIO(in_open_document(archive, data)))
        markdown = _IMAGE.sub(partial(_image, archive, figures), str(document.to_markdown()))
        return Content(_tidy(markdown), properties)


def _image(archive: zipfile.ZipFile, figures: Figures | None, image: re.Match[str]) -> str:
    caption, part = "" if image[1] == "image" else image[1], image[2]  # "image" is the library's default caption
    return figures.mark(archive.read(part), caption) if figures and part in archive.namelist() else caption


def _tidy(markdown: str) -> str:
    """Undo escapes of characters that spoil names, and the padding of tables, which costs tokens."""
    lines = (_PADDING.sub(_narrow, line) if line.startswith("|") else line for line in markdown.splitlines())
    return _ESCAPE.sub(r"\1", "\n".join(lines))


def _narrow(padding: re.Match[str]) -> str:
    return " " if padding[0].isspace() else "---"
