"""Mail, by the standard library: who wrote to whom and when, the text, and the names of what is attached."""

import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from typing import cast

from lightrag_dagster.stages.documents.formats import html
from lightrag_dagster.stages.documents.formats.content import Content, UnreadableError, make_properties
from lightrag_dagster.stages.documents.formats.decoding import decode

_SHOWN = ("From", "To", "Cc", "Date")
_DEPTH = 5  # a mail in a mail in a mail is enough
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")  # by PGP, by S/MIME


def read(data: bytes) -> Content:
    """Read a mail. Quoted text is kept: the mail that it is from need not be among the files.

    Of a text in both forms the plain one is read, unless it is empty; mails that are forwarded whole are read too.
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
    return Content("\n\n".join(_render(message, 1)), properties)


def _render(message: EmailMessage, level: int) -> Iterator[str]:
    subject = " ".join(_header(message, "Subject").split())
    if subject:
        yield f"{'#' * level} {subject}"
    lines = [f"{name}: {' '.join(value.split())}" for name in _SHOWN if (value := _header(message, name))]
    yield "\n".join(lines)
    yield _text(message)
    attached = []
    for part in message.iter_attachments() if message.is_multipart() else []:
        inner = part.get_content() if part.get_content_type() == "message/rfc822" else None
        if isinstance(inner, EmailMessage) and level < _DEPTH:
            yield from _render(inner, level + 1)
        elif name := part.get_filename():
            attached.append(" ".join(name.split()))
    if attached:
        yield f"Attachments: {', '.join(attached)}"


def _text(message: EmailMessage) -> str:
    for kind in ("plain", "html"):
        part = message.get_body((kind,))
        if part is None:
            continue
        payload = cast(bytes, part.get_payload(decode=True) or b"")
        charset = part.get_content_charset()
        text = html.read(_as_utf8(payload, charset)).text if kind == "html" else _decode(payload, charset)
        if isinstance(text, str) and text.strip():
            return text.strip().replace("\r\n", "\n")
    return ""


def _decode(payload: bytes, charset: str | None) -> str:
    """Decode a part by the encoding that it names: some are valid ASCII too, and mails have errors in them."""
    try:
        return payload.decode(charset, "replace") if charset else decode(payload).text
    except LookupError:
        return decode(payload).text


def _as_utf8(payload: bytes, charset: str | None) -> bytes:
    return _decode(payload, charset).encode("utf-8", "replace") if charset else payload


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
