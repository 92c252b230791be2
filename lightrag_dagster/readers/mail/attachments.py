"""The attachments of a mail, read by the readers of their formats."""

from email.message import EmailMessage

from lightrag_dagster.core.text.figures import mark_of
from lightrag_dagster.core.text.markdown import find_headings
from lightrag_dagster.readers.content import Content, UnreadableError, bounded
from lightrag_dagster.readers.formats import FORMATS, FileFormat, format_of
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import fenced, no_heading, whole_words
from lightrag_dagster.readers.losses import check_losses
from lightrag_dagster.readers.recognition import is_told_by_content, kind_of_packed, recognise

_MOST = 100  # of a mail, those of forwarded mails included
_MOST_CHARACTERS = 5_000_000  # of all their texts
_MAX_REPORTED = 3  # reasons
_TNEF = "application/ms-tnef"
_TNEF_NAME = "winmail.dat"
_SIGNED = (".p7s", ".asc", ".sig")  # what has no name is a signature too
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")


SMIME = ("application/pkcs7-mime", "application/x-pkcs7-mime")
"""The types of what is encrypted, or signed in one piece, by S/MIME."""

PROTECTED = "protected by S/MIME or PGP; save a copy without it"
"""The reason for what is encrypted."""

_ENCRYPTED = (".p7m", ".pgp", ".gpg")
_PGP = b"-----BEGIN PGP MESSAGE-----"


class Attachments:
    """The attachments of one mail, read within bounds; their images are put into `figures`."""

    def __init__(self, figures: Figures | None, *, read: bool = True) -> None:
        self._figures = figures
        self._read = read
        self._left = _MOST
        self._characters = _MOST_CHARACTERS
        self._done = 0
        self._reasons: list[str] = []
        self._lost: list[str] = []

    @property
    def note(self) -> str | None:
        """The number of unreadable attachments, the first reasons, and the doubts about others; None if all is well."""
        told = "; ".join(self._reasons[:_MAX_REPORTED])
        count = len(self._reasons)
        unread = [f"{count} of {count + self._done} attachments are not read: {told}"] if told else []
        return "; ".join([*unread, *bounded(self._lost)]) or None

    def section(self, name: str, data: bytes, level: int, *, is_text: bool = False) -> str:
        """Return an attachment as Markdown under a heading with its name; "" if only its name is read.

        Its headings are below that heading. Mails that are attached as files are read without their attachments. A
        text of a kind that has no reader is read as it is.
        """
        try:
            return self._section(name, data, level, is_text=is_text)
        except UnreadableError as error:
            self._reasons.append(f"{name}: {error}")
            return ""

    def _section(self, name: str, data: bytes, level: int, *, is_text: bool) -> str:
        """Return the section of an attachment; raises UnreadableError with the reason why its name alone is told."""
        if data and (name.lower().endswith(_ENCRYPTED) or data[:100].lstrip().startswith(_PGP)):
            raise UnreadableError(PROTECTED)
        kind = kind_of_packed(name)
        if data and self._read and (kind or (is_told_by_content(name) and not is_text)):
            data, kind, note = recognise(data, name, kind, _MOST_CHARACTERS, "the most of all attachments")
            self._lost += [f"{name}: {note}"] if note else []
        found = format_of(name + kind) or (FORMATS[".txt"] if is_text else None)
        if name.lower() == _TNEF_NAME:
            raise UnreadableError("only Outlook reads it; it may hold other attachments")
        if not data or not self._read or (found is None and (not name or name.lower().endswith(_SIGNED))):
            return ""
        if found is None:
            raise UnreadableError("its type is not known")
        if found.is_image:
            if not self._figures:
                raise UnreadableError("an image; save it as a file of its own, which documents.recognise_text reads")
            self._done += 1
            figure = self._figures.name_of(data)
            return mark_of(name, figure) if figure else ""
        if not self._left or self._characters <= 0:
            raise UnreadableError(f"a mail has no more than {_MOST} with {_MOST_CHARACTERS:,} characters")
        self._left -= 1
        figures = [self._figures] if self._figures and found.has_figures else []
        content = found.read(data, *figures, **({"attachments": False} if found.has_attachments else {}))
        pages = [content.text] if isinstance(content.text, str) else content.text
        text = "\n\n".join(filter(None, map(str.strip, pages)))
        if not text:
            raise UnreadableError(content.why_empty or _in_images(content) or "it has no text")
        self._lost += [f"{name}: {doubt}" for doubt in (content.note, _in_images(content)) if doubt]
        self._check(found, name, data, [*map(whole_words, pages), *content.left_out])
        self._characters -= len(text)
        if self._characters < 0:
            raise UnreadableError(f"the attachments have more than {_MOST_CHARACTERS:,} characters")
        self._done += 1
        is_plain = found.media_type == "text/plain"
        text = below(text, level) if found.has_headings else no_heading(text) if is_plain else fenced(text)
        return f"{'#' * level} {name}\n\n{text}"

    def _check(self, found: FileFormat, name: str, data: bytes, read: list[str]) -> None:
        """Note the words of an attachment that its text lacks, if its format has this check."""
        losses, doubt = check_losses(found.words, data, read)
        if losses and losses.lost:
            doubt = f"{losses.lost:,} of {losses.words:,} words are lost, such as {losses.example}"
        self._lost += [f"{name}: {doubt}"] if doubt else []


def _in_images(content: Content) -> str:
    remedy = "is in images; save it as a file of its own, which documents.recognise_text reads"
    return f"the text of {len(content.drawn):,} of its pages {remedy}" if content.drawn else ""


def unnamed(part: EmailMessage) -> str:
    """Return a name for a part that has none, by its type; "" for a signature."""
    kind = part.get_content_type()
    if kind in _SIGNATURES:
        return ""
    if kind == _TNEF or kind in SMIME:
        return _TNEF_NAME if kind == _TNEF else "smime.p7m"
    suffix = next((one for one, known in FORMATS.items() if known.media_type == kind), f".{part.get_content_subtype()}")
    return f"{'image' if part.get_content_maintype() == 'image' else 'attachment'}{suffix}"


def below(text: str, level: int) -> str:
    """Return Markdown whose headings are below one of a level; none is deeper than 6."""
    parts, done = list[str](), 0
    for heading in find_headings(text):
        line = text.find("\n", heading.offset)
        line = len(text) if line < 0 else line
        end = line
        if not text[heading.offset : heading.offset + 4].lstrip(" ").startswith("#"):  # underlined
            end = text.find("\n", line + 1)
            end = len(text) if end < 0 else end
        parts += [text[done : heading.offset], f"{'#' * min(heading.level + level, 6)} {heading.text}"]
        done = end
    return "".join([*parts, text[done:]])
