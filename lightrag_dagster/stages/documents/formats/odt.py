"""OpenDocument texts, by odfdo."""

import io
import re

from odfdo import Document

from lightrag_dagster.stages.documents.formats.archive import open_archive, parse_part, read_properties
from lightrag_dagster.stages.documents.formats.content import Content, UnreadableError

_ESCAPE = re.compile(r"\\([-_*.#+!\[\](){}<>`~])")
_PADDING = re.compile(r" {2,}|-{4,}")


def read(data: bytes) -> Content:
    """Read an .odt file."""
    with open_archive(data, "content.xml") as archive:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
            raise UnreadableError("protected by a password; save a copy without it")
        properties = read_properties(archive, "meta.xml")
        parse_part(archive, "content.xml")  # says what is wrong with it, where the library would go on
        return Content(_tidy(str(Document(io.BytesIO(data)).to_markdown())), properties)


def _tidy(markdown: str) -> str:
    """Undo escapes of characters that spoil names, and the padding of tables, which costs tokens."""
    lines = (_PADDING.sub(_narrow, line) if line.startswith("|") else line for line in markdown.splitlines())
    return _ESCAPE.sub(r"\1", "\n".join(lines))


def _narrow(padding: re.Match[str]) -> str:
    return " " if padding[0].isspace() else "---"
