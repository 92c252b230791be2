"""From the bytes of a file to its title and text."""

import codecs
from dataclasses import dataclass
from pathlib import PurePosixPath

from lightrag_dagster.stages.documents.markdown import find_title
from lightrag_dagster.stages.documents.sanitise import sanitise

MEDIA_TYPES = {
    ".htm": "text/html",
    ".html": "text/html",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".txt": "text/plain",
}
"""Media type of each supported suffix."""

UNSUPPORTED = "application/octet-stream"
"""Media type of every other file."""


@dataclass(frozen=True)
class ExtractedText:
    """What a file says: a one-line title, never empty; sanitised text, Markdown unless plain; the media type."""

    title: str
    text: str
    media_type: str


def media_type(path: str) -> str:
    """Return the media type that the suffix of a path stands for."""
    return MEDIA_TYPES.get(PurePosixPath(path).suffix.lower(), UNSUPPORTED)


def extract_text(data: bytes, path: str) -> ExtractedText:
    """Return title and text of a file with a supported suffix.

    Raises:
        ValueError: the bytes cannot be read as what the suffix says; the message is a reason without any path.
    """
    kind = media_type(path)
    title: str | None = None
    if kind == "text/html":
        from lightrag_dagster.stages.documents.html import extract_html  # its library takes 0.4 s to import

        title, text = extract_html(data)
    else:
        text = decode(data)
    text = sanitise(text)
    if kind == "text/markdown":
        title = find_title(text)
    return ExtractedText(" ".join(sanitise(title or "").split()) or PurePosixPath(path).name, text, kind)


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark, or else the encoding that the document itself declares.

    Raises:
        ValueError: the bytes are not in that encoding.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig"] + ([declared] if declared else [])
    reason = ""
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            name = encoding.removesuffix("-sig").upper()
            reason = reason or f"not valid {name}: {error.reason} at byte {error.start}; save the file as UTF-8"
        except LookupError:
            reason = f"not valid UTF-8, and declares the unknown encoding {declared!r}; save the file as UTF-8"
    raise ValueError(reason)
