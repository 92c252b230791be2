"""Mail, by the standard library: header, texts, invitations and attachments."""

import re
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from typing import cast

from lightrag_dagster.core.text.markdown import closed
from lightrag_dagster.readers.content import Content, UnreadableError, bounded, make_properties
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import no_heading
from lightrag_dagster.readers.mail import calendar
from lightrag_dagster.readers.mail.attachments import PROTECTED, SMIME, Attachments, below, unnamed
from lightrag_dagster.readers.mail.bodies import CALENDARS, HEADERS, MAILS, Bodies, Piece, file_name
from lightrag_dagster.readers.mail.charsets import decode_text
from lightrag_dagster.readers.mail.headers import decode_header, header, parse_mail
from lightrag_dagster.readers.mail.page import own_page
from lightrag_dagster.readers.mail.payloads import payload
from lightrag_dagster.readers.mail.quotes import answered_mail, without_quotes

_SHOWN = ("From", "To", "Cc", "Date")
_DEPTH = 5  # a mail in a mail in a mail is enough
_READ_DEPTH = 2  # attachments of deeper ones are names
_ARMORED = r"(?:(?!.*-----)[> \t]*(?:[A-Z]\w*: .*|\S*)[ \t\r]*\n)*+"  # lines without blanks, but for `Version: …`
_BLOCK = rf"(MESSAGE|SIGNATURE)-----[ \t\r]*\n{_ARMORED}[> \t]*-----END PGP \1-----"
_SIGNS = r"SIGNED MESSAGE-----(?:\s*^Hash: [A-Z\d/, -]+)*"
_ARMOR = re.compile(rf"^[> \t]*-----BEGIN PGP (?:{_BLOCK}|{_SIGNS})[ \t\r]*$", re.MULTILINE)
"""Ciphertext in a text, and what PGP writes around a text that it signs, each on lines of its own."""

_SIGNED = re.compile(r"^-----BEGIN PGP SIGNED .*\n(?:(?!-----).*\n)*+(?=-----BEGIN PGP SIGNATURE)", re.MULTILINE)
_ESCAPED = re.compile(r"^- (?!-----[BE]|-- )", re.MULTILINE)
"""A line of a signed text that begins with a dash (RFC 9580, 7.1), but no mark, and no signature that ends a mail."""


def read(data: bytes, figures: Figures | None = None, *, attachments: bool = True) -> Content:
    """Read a mail: its header, its author's text, and its attachments by the readers of their formats.

    If a text has both forms, the plain one is read, unless it is empty or only points to the other; mails that are
    forwarded whole are read too. Images are put into `figures`. Without `attachments`, only their names are in the
    text.
    """
    if not data:
        raise UnreadableError("the file is empty: it has 0 bytes")
    message = parse_mail(data)
    if message.get_content_type() in ("multipart/encrypted", *SMIME):
        raise UnreadableError(PROTECTED)
    if not message.keys():
        raise UnreadableError("not a mail: it has no header; give the file its own suffix")
    mail = _Mail(figures, Attachments(figures, read=attachments))
    text = "\n\n".join(map(closed, filter(None, mail.render(message, 1))))
    properties = make_properties(header(message, "Subject"), _authors(message), _day(message))
    return Content(text, properties, note=mail.note, left_out=tuple(mail.left_out), answered=mail.answered)


class _Mail:
    """A mail and those in it, as Markdown; `left_out` are quotes, signatures and other forms of the texts.

    `answered` is the number of lines of earlier mails below their headers, among which may be answers.
    """

    def __init__(self, figures: Figures | None, attached: Attachments) -> None:
        self._figures = figures
        self._attached = attached
        self._doubts: list[str] = []
        self._events: set[str] = set()
        self.left_out: list[str] = []
        self.answered = 0

    @property
    def note(self) -> str | None:
        """The doubts and missing parts; None without any."""
        doubts = bounded(list(dict.fromkeys(self._doubts)))
        return "; ".join(filter(None, (*doubts, self._attached.note))) or None

    def render(self, message: EmailMessage, level: int, title: str = "") -> Iterator[str]:
        """Yield the parts of a mail as Markdown, whose heading is its subject or a title."""
        subject = " ".join(header(message, "Subject").split()) or title
        if subject:
            yield f"{'#' * level} {subject}"
        yield "\n".join(f"{name}: {' '.join(value.split())}" for name in _SHOWN if (value := header(message, name)))
        bodies = Bodies(message)
        self.left_out += [piece.words for piece in bodies.left_out]
        images = {
            str(one.part["Content-ID"]).strip("<> "): payload(one.part)[0]
            for one in bodies.others
            if one.part["Content-ID"]
        }
        answers = "In-Reply-To" in message or "References" in message
        yield self._text(subject, [(one, self._plain(one, images, level)) for one in bodies.texts], answers=answers)
        names, sections = list[str](), list[str]()
        for one in bodies.others:
            is_shown = one.part.get_content_maintype() == "image" and one.part["Content-ID"]
            found = self._other(one.part, level) if self._figures or not is_shown else []
            sections += found
            if not found and not is_shown and (name := file_name(one.part) or unnamed(one.part)):
                names.append(name)
        if names:
            yield f"Attachments: {', '.join(names)}"
        yield from sections

    def _text(self, subject: str, texts: list[tuple[Piece, str]], *, answers: bool) -> str:
        """Return the text of a mail's author, given its texts as Markdown."""
        signed = [_SIGNED.sub(lambda found: _ESCAPED.sub("", found[0]), text) for _, text in texts]
        bare = [_ARMOR.sub(self._leave_out_armor, text) for text in signed]
        read = [(text, one.kind != "html") for text, (one, _) in zip(bare, texts, strict=True)]
        self._doubts += [f"a text: {one.note}" for one, _ in texts if one.note]
        kept = [without_quotes(text, subject, marked=marked, answers=answers) for text, marked in read]
        if not any(kept):
            kept = [text.strip() for text, _ in read]
        else:
            answered = [answered_mail(text, subject, marked=marked).splitlines() for text, marked in read]
            self.answered += sum(bool(line.strip()) for lines in answered for line in lines)
        for (text, _), own in zip(read, kept, strict=True):
            self.left_out += (Counter(text.splitlines()) - Counter(own.splitlines())).elements()
        return "\n\n".join(filter(None, kept))

    def _leave_out_armor(self, found: re.Match[str]) -> str:
        self.left_out.append(found[0])
        self._doubts += [f"a text: {PROTECTED}"] if found[1] == "MESSAGE" else []
        return ""

    def _plain(self, piece: Piece, images: dict[str, bytes], level: int) -> str:
        """Return a text as Markdown, with the images of its page, whose headings are below a level."""
        if piece.kind != "html":
            return no_heading(piece.text)
        from lightrag_dagster.readers.html import page as html_page  # slow to import

        own, left_out = own_page(piece.text, images if self._figures else {})
        self.left_out += left_out
        page = html_page.read(own.encode("utf-8", "replace"), self._figures)
        return below(page.text, level) if isinstance(page.text, str) else ""

    def _other(self, part: EmailMessage, level: int) -> list[str]:
        """Return what is not a text as Markdown: an invitation, a mail, an attachment; nothing, if it is only named."""
        if part.is_multipart():
            inner = self._inner(part) if part.get_content_type() in MAILS else part
            if level >= _DEPTH:
                self._doubts.append("mails that are deeper in others are only named")
                return []
            return list(filter(None, self.render(inner, level + 1, file_name(part) if inner is part else "")))
        if part.get_content_type() == "application/pgp-encrypted":
            return [""]  # a version; what is encrypted is the next part
        data, damage = payload(part) if level <= _READ_DEPTH else (b"", None)
        name = file_name(part) or unnamed(part)
        if damage:
            self._doubts.append(f"{name}: {damage}")
        if part.get_content_type() in CALENDARS or name.lower().endswith(".ics"):
            text, doubt = decode_text(data, part.get_content_charset())
            self._doubts += [f"{name}: {doubt}"] if doubt else []
            events = calendar.read(text, level + 1)
            self.left_out += [event for event in events if event in self._events]
            found = [event for event in events if event not in self._events]
            self._events.update(found)
            if events:
                return found or [""]
        if part.get_content_type() == HEADERS:  # of a mail that was returned without its text
            self.left_out.append(decode_text(data, None).text)
            inner = parse_mail(data)
            return list(filter(None, self.render(inner, level + 1))) if inner.keys() and level < _DEPTH else []
        section = self._attached.section(name, data, level + 1, is_text=part.get_content_maintype() == "text")
        return [section] if section else []

    def _inner(self, part: EmailMessage) -> EmailMessage:
        """Return the mail in a part, also one that is encoded against the rules."""
        inner = cast(list[EmailMessage], part.get_payload())[0]
        encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
        if inner.keys() or encoding not in ("base64", "quoted-printable"):
            return inner
        self.left_out.append(str(inner.get_payload()))
        inner["Content-Transfer-Encoding"] = encoding
        return parse_mail(payload(inner)[0])


def _authors(message: EmailMessage) -> list[str]:
    raw = " ".join(str(value) for name, value in message.raw_items() if name.lower() == "from")
    return [decode_header(name) or address for name, address in getaddresses([raw])]


def _day(message: EmailMessage) -> str | None:
    try:
        return parsedate_to_datetime(header(message, "Date")).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
