"""Documents imported into a Word file, which Word takes over when it opens it: HTML, RTF, Word and plain text."""

import re
from collections.abc import Callable
from email import message_from_bytes, policy

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.mail.charsets import decode_text
from lightrag_dagster.readers.mail.payloads import payload
from lightrag_dagster.readers.rtf import reader as rtf

_PAGE = re.compile(rb"<(?:!doctype html|html|head|body|p|div|table|h\d|ul|ol|span|meta)\b", re.IGNORECASE)
_MAIL = re.compile(rb"^(?:MIME-Version|Content-Type|From):", re.IGNORECASE | re.MULTILINE)
_WITHIN = 2048  # bytes


def read_chunk(data: bytes, read_word: Callable[[bytes], Content]) -> Content:
    """Read an imported document as what it is; raises ValueError with a reason.

    Args:
        data: The document.
        read_word: The reader of Word files.
    """
    beginning = data[:_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n")
    if beginning.startswith(b"PK"):
        return read_word(data)
    if beginning.startswith(b"{\\rtf"):
        return rtf.read(data)
    if _MAIL.search(beginning) and not beginning.startswith(b"<"):
        return _read_web_archive(data)
    text, note = decode_text(data, None)
    is_page = _PAGE.search(data[:_WITHIN].replace(b"\0", b""))
    return Content((to_markdown(text) if is_page else text).strip(), note=note)


def _read_web_archive(data: bytes) -> Content:
    """Read the page in a file of Internet Explorer and Word, which is a mail of its parts."""
    message = message_from_bytes(data, policy=policy.default)
    body = message.get_body(("html", "plain"))
    if body is None:
        return Content("")
    text, note = decode_text(payload(body)[0], body.get_content_charset())
    return Content((to_markdown(text) if body.get_content_subtype() == "html" else text).strip(), note=note)
