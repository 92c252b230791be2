"""The characters of a mail: charsets that are missing, unknown or wrong, and mails saved in UTF-16."""

import codecs
import re

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.decoding import Decoded, decode, is_utf8, larger

_WIDE = re.compile("utf-?(?:16|32)")
_META = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_META_WITHIN = 4096
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNMARKED = ((re.compile(rb"(?:[\r\n]\x00)*(?:[!-~]\x00){4}"), "utf-16-le"),
             (re.compile(rb"(?:\x00[\r\n])*(?:\x00[!-~]){4}"), "utf-16-be"))  # fmt: skip


def decode_text(data: bytes, charset: str | None) -> Decoded:
    """Decode a text by the charset that it names, unless the bytes are not of it; with a note in doubt.

    Bytes beyond ASCII that are valid UTF-8 are read as that, against what is declared: others hardly ever give it.
    """
    if charset is None and (declared := _META.search(data, 0, _META_WITHIN)):
        charset = declared[1].decode("ascii")
    codec = _codec(charset)
    if codec and (data.isascii() or not is_utf8(data)) and not (_WIDE.match(codec) and b"\x00" not in data):
        try:
            return Decoded(data.decode(larger(codec)))
        except UnicodeDecodeError:
            pass
    try:
        found = decode(data)
    except UnreadableError:
        doubt = f"its encoding cannot be told, bytes stand as \ufffd; it declares {charset}"
        return Decoded(data.decode(codec or "ascii", "replace"), doubt)
    if charset and not found.note and not is_utf8(data):
        return Decoded(found.text, f"its encoding is not the {charset} that it declares, and was detected")
    return found


def in_ascii(data: bytes) -> bytes:
    """Return a mail in bytes as mails have them: one saved as UTF-16 in UTF-8, without a mark and lines before it."""
    wide = "utf-16" if data.startswith(_MARKS) else None
    wide = wide or next((name for form, name in _UNMARKED if form.match(data)), None)
    if wide:
        data = data.decode(wide, "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")


def _codec(charset: str | None) -> str | None:
    """Return the codec of a charset, None if it is unknown or none of text."""
    try:
        found = codecs.lookup((charset or "").strip())
    except (LookupError, ValueError):
        return None
    return found.name if found._is_text_encoding else None
