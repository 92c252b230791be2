"""The format of a file by what is in it: packed by gzip, without a suffix, or a text in reStructuredText."""

import codecs
import gzip
import io
import re
import zlib
from contextlib import suppress
from typing import NamedTuple

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.formats import MAILDIR, format_of

_GZIP = b"\x1f\x8b"
_SUFFIX = re.compile(r".+\.(?=[^.]*[A-Za-z])[A-Za-z0-9]+|.+~", re.DOTALL)
"""A name whose end is a suffix: no number, as in `GPL-2.0`, and only letters and digits, unlike `1712.M1.host:2,S`; or
the mark of an editor's copy."""

_BY_CUSTOM = re.compile(
    r"(authors|change(s|log)|contribut(ing|ors)|cop(ying|yright)|dockerfile|history|install|licen[cs]e|makefile|news"
    r"|notice|readme|thanks|todo)\b(?!.*~$)",
    re.IGNORECASE,
)
"""A name by which a text is known with any suffix, as in `changelog.Debian` and `LICENSE.MIT`."""

_MAILDIR = re.compile(MAILDIR, re.ASCII)

_AT_ONCE = 1 << 20  # bytes
_BEGINNING = 100_000  # bytes, in which a mark of a format stands
_NO_TEXT = 8_000  # bytes, without a zero in text
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_BY_BEGIN = {b"%PDF-": ".pdf", rb"{\rtf": ".rtf"}
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:<\?xml[^>]*>|<!--(?:(?!-->).)*+-->|\s)*+<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)

_MAILBOX = re.compile(rb"\s*+From [^\n]{1,200}?\d:\d\d[^\n]{0,100}\n>?[!-9;-~]+:")
_FIELDS = re.compile(rb"(?:>?From [^\n]*\n)?((?:[!-9;-~]+[ \t]*:[^\n]*\n|[ \t]+\S[^\n]*\n)+)(?:\r?\n|\Z)")
_FIELD = re.compile(rb"^([!-9;-~]+)[ \t]*:", re.MULTILINE)
_OF_MAILS = {b"date", b"delivered-to", b"message-id", b"mime-version", b"received", b"return-path", b"subject", b"to"}

_TITLE = re.compile(rb"^(?P<text>[^\s.][^\n]*)\n(?P<line>([=\-~^\"*+#`'])\3{2,})[ \t]*\r?$", re.MULTILINE)
_MARKUP = re.compile(
    rb"^\.\. (?:[a-z][\w-]*(?::[\w-]+)*::(?:[ \t]|\r?$)|_[^\n:]+:|\|[^|\n]+\| [a-z-]+::)"
    rb"|(?<![\w:`]):[a-z]+(?::[a-z]+)?:`[^`\n]+`",
    re.MULTILINE,
)
_ENOUGH = 3  # pieces of markup, in a text without a title


class Recognised(NamedTuple):
    """The bytes of a file, unpacked; the suffix of their format; and what was left out of them, if anything."""

    data: bytes
    kind: str
    note: str | None = None


def kind_of_packed(path: str) -> str:
    """Return the suffix of what is in a file packed by gzip, as `.md` for `notes.md.gz`; else, and without one, ""."""
    name = _inside(path)
    return name[name.rfind(".") :] if name != path and format_of(name) else ""


def is_told_by_content(path: str) -> bool:
    """Return True if the name of a file does not say its format, as README, or as that of a mail in a maildir."""
    name = _inside(path).rpartition("/")[2]
    if not name or format_of(name):
        return bool(_MAILDIR.match(name))
    return not _SUFFIX.fullmatch(name) or any(one.match(name) for one in (_BY_CUSTOM, _MAILDIR))


def recognise(data: bytes, path: str, kind: str, most: int, limit: str = "documents.max_bytes") -> Recognised:
    """Return the bytes of a file, unpacked, and the suffix of their format, to be put after its path.

    It is `kind` if that is told or the name is enough, and "" for bytes that are not text. `data` may have one byte
    more than `most`, which the whole file may have; `limit` is the name of that.

    Raises:
        UnreadableError: the file is packed, and damaged, or larger than `most` when it is unpacked.
    """
    name = _inside(path).rpartition("/")[2]
    in_maildir = bool(_MAILDIR.match(name))  # where servers pack mails without a suffix
    is_packed = (in_maildir or _inside(path) != path) and data.startswith(_GZIP) and len(data) <= most
    data, note = _unpacked(data, most, limit) if is_packed else (data, None)
    if kind and not (is_packed and kind.lower() == ".txt"):
        return Recognised(data, kind, note)
    if is_told_by_content(path) and not kind:
        found = _by_content(data, len(data) > most, in_maildir=in_maildir)
        return Recognised(data, found if found != ".txt" or not format_of(name) else "", note)
    return Recognised(data, ".rst" if name.lower().endswith(".txt") and _is_rst(data) else kind, note)


def _inside(path: str) -> str:
    """Return the path of what is in a packed file; that of any other as it is."""
    return path[:-3] if path.lower().endswith(".gz") else path


def _unpacked(data: bytes, most: int, limit: str) -> tuple[bytes, str | None]:
    """Return what is packed, and a note about bytes behind it that are not, which gzip leaves out too."""
    found, note = bytearray(), None
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while len(found) <= most and (part := file.read1(_AT_ONCE)):
                found += part
    except (OSError, EOFError, zlib.error) as error:
        if not found or not str(error).startswith("Not a gzipped file"):
            raise UnreadableError("damaged or cut short; copy the file again, or pack it again") from error
        note = "bytes behind what is packed by gzip are left out"
    if len(found) > most:
        raise UnreadableError(f"larger than {limit} = {most} when it is unpacked")
    return bytes(found), note


def _by_content(data: bytes, is_cut: bool, *, in_maildir: bool) -> str:
    """Return the suffix of a file's format by its bytes; "" if they are of none that is known by them."""
    for begin, suffix in _BY_BEGIN.items():
        if data.startswith(begin):
            return suffix
    if _MAILBOX.match(data):
        return ".mbox"
    if _is_mail(data, in_maildir):
        return ".eml"
    if not _is_text(data[: data.rfind(b"\n", 0, _BEGINNING) + 1 or _BEGINNING] if is_cut else data):
        return ""
    if _HTML.match(data, 0, _BEGINNING):
        return ".html"
    if data.startswith(b"<?xml"):
        return ".xml"
    return ".rst" if _is_rst(data) else ".txt"


def _is_text(data: bytes) -> bool:
    if b"\0" in data[:_NO_TEXT] and not data.startswith(_MARKS):
        return False
    with suppress(UnreadableError):
        decode(data)
        return True
    return False


def _is_mail(data: bytes, in_maildir: bool) -> bool:
    """Return True if bytes begin with the header of a mail: a sender and another field, in a maildir any fields."""
    header = _FIELDS.match(data[:_BEGINNING])
    names = {name.lower() for name in _FIELD.findall(header[1])} if header else set()
    return bool(names) and (in_maildir or (b"from" in names and not names.isdisjoint(_OF_MAILS)))


def _is_rst(data: bytes) -> bool:
    """Return True if a text has a title with a line under it and other markup, or without a title more of it."""
    marks = sum(1 for _ in zip(_MARKUP.finditer(data), range(_ENOUGH), strict=False))
    if not marks:
        return False
    is_titled = any(
        len(one["line"]) >= len(one["text"].rstrip().decode("utf-8", "replace")) for one in _TITLE.finditer(data)
    )
    return is_titled or marks >= _ENOUGH
