"""The file formats that can be read. A new one is a reader and an entry of `FORMATS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from lightrag_dagster.stages.documents.decoding import decode
from lightrag_dagster.stages.documents.markdown import find_title
from lightrag_dagster.stages.documents.sanitise import sanitise

UNSUPPORTED = "application/octet-stream"
"""Media type of every file without a format."""

_PAGE_BREAK = "\n\n"


@dataclass(frozen=True)
class Format:
    """A file format and its reader.

    `read` takes the bytes of a file and returns its title, None if it has none, and its text or the texts of its
    pages; it raises ValueError with a reason. `has_headings` tells that the text is Markdown.
    """

    media_type: str
    read: Callable[[bytes], tuple[str | None, str | list[str]]]
    has_headings: bool


@dataclass(frozen=True)
class ExtractedText:
    """The text of a file: a one-line title, never empty; the sanitised text; its media type.

    `pages` holds the character offset at which each page begins, and is empty for a format without pages.
    """

    title: str
    text: str
    media_type: str
    pages: tuple[int, ...] = ()


def _read_text(data: bytes) -> tuple[None, str]:
    return None, decode(data)


def _read_html(data: bytes) -> tuple[str | None, str]:
    from lightrag_dagster.stages.documents.html import extract_html  # its library takes 0.4 s to import

    return extract_html(data)


_HTML = Format("text/html", _read_html, has_headings=True)
_MARKDOWN = Format("text/markdown", _read_text, has_headings=True)
_PLAIN = Format("text/plain", _read_text, has_headings=False)

FORMATS = {".htm": _HTML, ".html": _HTML, ".markdown": _MARKDOWN, ".md": _MARKDOWN, ".txt": _PLAIN}
"""The format of each supported suffix."""


def format_of(path: str) -> Format | None:
    """Return the format of a file by its suffix, or None if it cannot be read."""
    return FORMATS.get(PurePosixPath(path).suffix.lower())


def media_type(path: str) -> str:
    """Return the media type of a file by its suffix."""
    found = format_of(path)
    return found.media_type if found else UNSUPPORTED


def has_headings(media_type: str) -> bool:
    """Tell whether texts of a media type are Markdown."""
    return any(one.has_headings for one in FORMATS.values() if one.media_type == media_type)


def extract_text(data: bytes, path: str) -> ExtractedText:
    """Return title, text and pages of a file with a supported suffix.

    Raises:
        ValueError: the bytes cannot be read as the format of the suffix; the message is a reason without any path.
    """
    found = FORMATS[PurePosixPath(path).suffix.lower()]
    title, content = found.read(data)
    text, pages = (sanitise(content), ()) if isinstance(content, str) else _joined(content)
    if not title and found.has_headings:
        title = find_title(text)
    return ExtractedText(
        " ".join(sanitise(title or "").split()) or PurePosixPath(path).name, text, found.media_type, pages
    )


def _joined(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    """Return the sanitised texts of pages as one text, and the offset of each; an empty page takes no room."""
    parts: list[str] = []
    offsets: list[int] = []
    length = 0
    for page in map(sanitise, pages):
        part = _PAGE_BREAK + page if page and parts else page
        offsets.append(length + len(part) - len(page))
        length += len(part)
        parts += [part] if part else []
    return "".join(parts), tuple(offsets)
