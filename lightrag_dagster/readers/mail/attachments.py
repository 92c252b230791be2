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
        self._count = 0
        self._reasons: list[str] = []
        self._lost: list[str] = []

    @property
    def note(self) -> str | None:
        """The number of unreadable attachments, the first reasons, and the doubts about others; None if all is well."""
        told = "; ".join(self._reasons[:_MAX_REPORTED])
        unread = [f"{len(self._reasons)} of {self._count} attachments are not read: {told}"] if told else []
        return "; ".join([*unread, *bounded(self._lost)]) or None

    def section(self, name: str, data: bytes, level: int, *, is_text: bool = False) -> str:
        """Return an attachment as Markdown under a heading with its name; "" if only its name is read.

        Its headings are below that heading. Mails that are attached as files are read without their attachments. A
        text of a kind that has no reader is read as it is.
        """
        if data and (name.lower().endswith(_ENCRYPTED) or data[:100].lstrip().startswith(_PGP)):
            self._count += 1
            return self._refused(name, PROTECTED)
        kind = kind_of_packed(name)
        if data and self._read and (kind or (is_told_by_content(name) and not is_text)):
            try:
                data, kind, note = recognise(data, name, kind, _MOST_CHARACTERS, "the most of all attachments")
            except UnreadableError as error:
                self._count += 1
                return self._refused(name, str(error))
            self._lost += [f"{name}: {note}"] if note else []
        found = format_of(name + kind) or (FORMATS[".txt"] if is_text else None)
        if name.lower() == _TNEF_NAME:
            self._count += 1
            return self._refused(name, "only Outlook reads it; it may hold other attachments")
        if not data or not self._read or (found is None and (not name or name.lower().endswith(_SIGNED))):
            return ""
        self._count += 1
        if found is None:
            return self._refused(name, "its type is not known")
        if found.is_image:
            figure = self._figures.name_of(data) if self._figures else None
            return mark_of(name, figure) if figure else ""
        if not self._left or self._characters <= 0:
            return self._refused(name, f"a mail has no more than {_MOST} with {_MOST_CHARACTERS:,} characters")
        self._left -= 1
        try:
            content = self._content(found, data)
        except UnreadableError as error:
            return self._refused(name, str(error))
        pages = [content.text] if isinstance(content.text, str) else content.text
        text = "\n\n".join(filter(None, map(str.strip, pages)))
        if not text:
            return self._refused(name, content.why_empty or _in_images(content) or "it has no text")
        self._lost += [f"{name}: {doubt}" for doubt in (content.note, _in_images(content)) if doubt]
        self._check(found, name, data, [*map(whole_words, pages), *content.left_out])
        self._characters -= len(text)
        if self._characters < 0:
            return self._refused(name, f"the attachments have more than {_MOST_CHARACTERS:,} characters")
        if found.has_headings:
            text = below(text, level)
        elif found.media_type != "text/plain":
            text = fenced(text)
        else:
            text = no_heading(text)
        return f"{'#' * level} {name}\n\n{text}"

    def _content(self, found: FileFormat, data: bytes) -> Content:
        figures = [self._figures] if self._figures and found.has_figures else []
        return found.read(data, *figures, **({"attachments": False} if found.has_attachments else {}))

    def _check(self, found: FileFormat, name: str, data: bytes, read: list[str]) -> None:
        """Note the words of an attachment that its text lacks, if its format has this check."""
        losses, doubt = check_losses(found.words, data, read)
        if losses and losses.lost:
            doubt = f"{losses.lost:,} of {losses.words:,} words are lost, such as {losses.example}"
        self._lost += [f"{name}: {doubt}"] if doubt else []

    def _refused(self, name: str, reason: str) -> str:
        self._reasons.append(f"{name}: {reason}")
        return ""


def _in_images(content: Content) -> str:
    if not content.drawn:
        return ""
    remedy = "save it as a file of its own, which documents.recognise_text reads"
    return f"the text of {len(content.drawn):,} of its pages is in images; {remedy}"


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
