"""The content of a file: its text, and the document's own properties."""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lightrag_dagster.core.text.sanitise import sanitise, with_characters
from lightrag_dagster.readers.inline import no_heading

_DAY = re.compile(r"\s*(?:D:)?(\d{4})-?(\d\d)-?(\d\d)")
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z])")
_BULLET = re.compile(r"^[•·▪◦‣\uf0b7]\s+")
_NUMBER = re.compile(r"^(\d{1,3}[.)])\s+")
_NAMED = 3  # attachments in a note, and doubts
_SEPARATORS = re.compile(r"[,;]")

# Values that programs write into a property that the author left empty.
_PLACEHOLDER = re.compile(
    r"\(?(anonymous|openpyxl|python-docx|un(known|specified|titled)|(microsoft office|windows)[ -](user|benutzer)"
    r"|(utilisateur|usuario|utente)( d[ei])? (microsoft office|windows)"
    r"|powerpoint[ -]?(presentat\w+|präsentation|プレゼンテーション|演示文稿)"
    r"|(a?pr[eé][sz]\w+|презентация)( standard)?( d[eio]| programu| aplikace)? powerpoint)\)?",
    re.IGNORECASE,
)


class UnreadableError(ValueError):
    """A file cannot be read; the message is the reason and the next step, for people."""


@dataclass(frozen=True)
class Properties:
    """A document's own properties; None or empty if it does not state them.

    `date` is the day it was written, by its author's calendar. `language` is a code of ISO 639, such as `de`.
    `switched_off` is the line of its front matter that forbids its publication, `date_note` says that its date there
    is left out.
    """

    title: str | None = None
    author: str | None = None
    date: datetime.date | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None
    switched_off: str | None = None
    date_note: str | None = None


NO_PROPERTIES = Properties()
"""The properties of a document that states none."""


@dataclass(frozen=True)
class Content:
    """The text of a file, or the texts of its pages, slides or sheets, and its properties.

    `why_empty` is the reason for an empty text, if it needs one; `note` names doubtful or missing parts. `drawn`
    are the pages, from 0, whose text is in images, if any. `left_out` is text of the file that is not content, such
    as menus, deleted words and headers that repeat; its words do not count as lost. `answered`
    is the number of its lines of earlier mails, into which answers may be written.
    """

    text: str | list[str]
    properties: Properties = NO_PROPERTIES
    why_empty: str | None = None
    drawn: tuple[int, ...] = ()
    note: str | None = None
    left_out: tuple[str, ...] = ()
    answered: int = 0


class Figure(NamedTuple):
    """An image of a document: its name in the text, a hash of the original, a data URL, and its size in pixels."""

    name: str
    digest: str
    url: str
    width: int
    height: int


class ReadingOptions(NamedTuple):
    """Options of reading a file: recognition of text in images, and whether images and attachments are included.

    `keep_repeated_lines` keeps the headers and footers of PDF pages.
    """

    recognise_text: bool = False
    figures: bool = False
    pdf_reader: str = "pdfium"
    attachments: bool = True
    keep_repeated_lines: bool = False


class Limits(NamedTuple):
    """The limits of a process that reads a file: seconds for a file, or for each page whose text is recognised; MB."""

    seconds: float
    memory_mb: int


def bounded(doubts: Sequence[str]) -> list[str]:
    """Return the first doubts for a note, and the number of the others."""
    return [*doubts[:_NAMED], *[f"{len(doubts) - _NAMED:,} more doubts"] * (len(doubts) > _NAMED)]


def first_few(named: Sequence[object], most: int = 5) -> str:
    """Return the first of some names or numbers, for a note."""
    return ", ".join(map(str, named[:most])) + ", …" * (len(named) > most)


def unread_attachments(names: Sequence[str]) -> list[str]:
    """Return a note about the attachments of a document, which are not read; none without one."""
    count, told = len(names), first_few(names, _NAMED)
    return [f"{count} of {count} attachments are not read: {told}; save them as files of their own"] if names else []


def make_properties(
    title: object = None, author: object = None, day: object = None, tags: object = None, language: object = None
) -> Properties:
    """Return properties from values as documents have them: texts, lists, dates, or None.

    Tags are split at commas in a text, not in an element of a list.
    """
    return Properties(
        title=one_text(title),
        author=", ".join(_texts(author)) or None,
        date=parse_day(day),
        tags=tuple(dict.fromkeys(_texts(tags if isinstance(tags, list) else split_tags(tags)))),
        language=parse_language(language),
    )


def parse_day(value: object) -> datetime.date | None:
    """Return the day of a date, of ISO 8601 text or of PDF's `D:20250304…`; None for anything else."""
    found = _DAY.match(str(value or ""))
    try:
        return datetime.date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def parse_language(value: object) -> str | None:
    """Return the language of a tag such as `en-GB` or `en_US.UTF-8`: `en`; None for anything else."""
    found = _LANGUAGE.match(str(value or ""))
    return found[1].lower() if found and found[1].lower() not in ("und", "zxx", "mul") else None


def as_markdown_item(line: str) -> str:
    """Return plain text as Markdown: an item of a list if it begins with a bullet or a number, and no heading."""
    return no_heading(_NUMBER.sub(r"\1 ", _BULLET.sub("- ", line)))


def split_tags(value: object) -> list[str]:
    """Return the parts of a text or number between commas and semicolons; none for anything else."""
    return _SEPARATORS.split(one_text(value) or "")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    named = [one.get("name") if isinstance(one, dict) else one for one in values]
    return [text for one in named if (text := one_text(one))]


def one_text(value: object) -> str | None:
    """Return a text or number as one line; None for anything else, and for what tools write where nothing is said."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    text = " ".join(sanitise(with_characters(str(value))).split())
    return text if text and not _PLACEHOLDER.fullmatch(text) else None
