"""Mail, by the standard library: header, text and attachments."""

import email.policy
from collections.abc import Iterator
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses, parsedate_to_datetime
from typing import cast

from lightrag_dagster.readers.content import Content, UnreadableError, make_properties
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.html import page as html_page
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.mail.attachments import Attachments
from lightrag_dagster.readers.mail.page import own_page
from lightrag_dagster.readers.mail.quotes import own_text

_SHOWN = ("From", "To", "Cc", "Date")
_DEPTH = 5  # a mail in a mail in a mail is enough
_READ_DEPTH = 2  # attachments of deeper ones are names
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")  # by PGP, by S/MIME


def read(data: bytes, figures: Figures | None = None, *, attachments: bool = True) -> Content:
    """Read a mail: its header, its author's text, and its attachments by the readers of their formats.

    If a text has both forms, the plain one is read, unless it is empty; mails that are forwarded whole are read too.
    Images are put into `figures`. Without `attachments`, only their names are in the text.
    """
    if not data:
        raise UnreadableError("the file is empty: it has 0 bytes")
    message = email.message_from_bytes(data, policy=email.policy.default)
    if message.get_content_type() in _ENCRYPTED:
        raise UnreadableError("protected by S/MIME or PGP; save a copy without it")
    if not message.keys():
        raise UnreadableError("not a mail: it has no header; give the file its own suffix")
    names = [name or address for name, address in getaddresses([_header(message, "From")])]
    properties = make_properties(_header(message, "Subject"), names, _day(message))
    attached = Attachments(figures, read=attachments)
    text = "\n\n".join(filter(None, _render(message, 1, attached, figures)))
    return Content(text, properties, note=attached.note)


def _render(message: EmailMessage, level: int, attached: Attachments, figures: Figures | None) -> Iterator[str]:
    subject = " ".join(_header(message, "Subject").split())
    if subject:
        yield f"{'#' * level} {subject}"
    yield "\n".join(f"{name}: {' '.join(value.split())}" for name in _SHOWN if (value := _header(message, name)))
    parts = list(_parts(message))
    yield _text(message, subject, parts, figures)
    names, sections = list[str](), list[str]()
    for part in parts:
        inner = part.get_content() if part.get_content_type() == "message/rfc822" else None
        if isinstance(inner, EmailMessage) and level < _DEPTH:
            sections += _render(inner, level + 1, attached, figures)
            continue
        shown = part.get_content_maintype() == "image"
        name = " ".join((part.get_filename() or "").split())
        data = _payload(part) if level <= _READ_DEPTH else b""
        as_named = name or (f"image.{part.get_content_subtype()}" if shown else "")
        if section := attached.section(as_named, data, level + 1):
            sections.append(section)
        elif name and not (shown and part["Content-ID"]):
            names.append(name)
    if names:
        yield f"Attachments: {', '.join(names)}"
    yield from sections


def _parts(message: EmailMessage) -> Iterator[MIMEPart]:
    """Yield the parts of a mail except its text: attachments, and the images of its page."""
    bodies = [_body(message, kind) for kind in ("plain", "html")]
    for part in _leaves(message):
        if part is not message and not any(part is body for body in bodies):
            yield part


def _leaves(message: EmailMessage) -> Iterator[MIMEPart]:
    """Yield the parts that are not divided further, in order; a mail in a mail is one."""
    left: list[MIMEPart] = [message]
    while left:
        part = left.pop()
        if part.get_content_maintype() == "multipart" and part.is_multipart():
            left += reversed(cast(list[MIMEPart], part.get_payload()))
        else:
            yield part


def _body(message: EmailMessage, kind: str) -> MIMEPart | None:
    """Return the text of a mail in one form; in a mail that is damaged, the first part of that form."""
    try:
        return message.get_body((kind,))
    except AttributeError:  # the library takes each multipart for one that has parts
        return next((one for one in _leaves(message) if one.get_content_type() == f"text/{kind}"), None)


def _text(message: EmailMessage, subject: str, parts: list[MIMEPart], figures: Figures | None) -> str:
    """Return the text of a mail's author, with the images of its page."""
    for kind in ("plain", "html"):
        part = _body(message, kind)
        if part is None:
            continue
        text = _decode(_payload(part), part.get_content_charset()).replace("\r\n", "\n")
        if kind == "html":
            images = {str(one["Content-ID"]).strip("<> "): _payload(one) for one in parts if one["Content-ID"]}
            page = html_page.read(own_page(text, images if figures else {}).encode("utf-8", "replace"), figures)
            text = page.text if isinstance(page.text, str) else ""
        if text.strip():
            return own_text(text, subject, marked=kind == "plain")
    return ""


def _payload(part: MIMEPart) -> bytes:
    payload = None if part.is_multipart() else part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _decode(payload: bytes, charset: str | None) -> str:
    """Decode a part by the encoding that it names: some encodings are valid ASCII too, and mails have errors."""
    try:
        return payload.decode(charset, "replace") if charset else decode(payload).text
    except LookupError:
        return decode(payload).text


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name) or "")
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):  # the library fails on some broken headers
        return ""


def _day(message: EmailMessage) -> str | None:
    try:
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return None
