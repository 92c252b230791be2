"""The bytes of the parts of a mail: transfer encodings, also cut or damaged ones."""

import binascii
import re
from collections import Counter
from email.message import Message

_BASE64_LINE = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_LONGEST_WORD = 24  # characters; a run in damaged base64 is longer
_NO_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?(?:\n|\Z))")


def payload(part: Message) -> tuple[bytes, str | None]:
    """Return the bytes of a part, as many as can be decoded, and what is damaged; a part with parts has none."""
    if part.is_multipart():
        return b"", None
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    written = part.get_payload()
    if encoding.startswith("base64") and isinstance(written, str):
        return _base64(written)
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes) or not isinstance(written, str):
        return b"", None
    if encoding.startswith("quoted-printable"):
        wrong = len(_NO_ESCAPE.findall(written.encode("utf-8", "replace")))
        return data, f"quoted-printable with {wrong:,} wrong escapes, which stay" if wrong else None
    return data, None


def _base64(written: str) -> tuple[bytes, str | None]:
    """Decode base64. Text behind it, as mailing lists add it, stays; damage costs the characters around it."""
    lines = [line.strip() for line in written.splitlines()]
    end = next((place for place, line in enumerate(lines) if _is_text(line)), len(lines))
    encoded = [line for line in lines[:end] if line]
    behind = "\n".join(lines[end:]).encode("utf-8", "surrogateescape")
    pieces = re.split("=+", "".join(encoded))  # several texts, each with its end, were put together by some programs
    odd = len(pieces[-1]) % 4 if len(pieces) == 1 else any(len(piece) % 4 == 1 for piece in pieces)
    if wrong := bool(odd) or any(not _BASE64_LINE.fullmatch(line) for line in encoded):
        widths = Counter(map(len, encoded[:-1]))
        if widths and not widths.most_common(1)[0][0] % 4:
            pieces = encoded
    data = b"".join(map(decode_base64, pieces))
    note = "base64 that is cut or damaged; its readable part is kept" if wrong else None
    return b"\n".join(filter(None, (data, behind))), note


def _is_text(line: str) -> bool:
    """Return True for a line of words, which base64 is not."""
    words = line.split()
    return len(words) > 1 and (max(map(len, words)) <= _LONGEST_WORD or any(mark in line for mark in ".,:_"))


def decode_base64(written: str) -> bytes:
    """Decode one piece of base64, also a cut one; a wrong character costs the four that it is among."""
    if not len(written) % 4:
        fours = (written[start : start + 4] for start in range(0, len(written), 4))
        written = "".join(four for four in fours if not _NO_BASE64.search(four.rstrip("=")))
    letters = _NO_BASE64.sub("", written)
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    return binascii.a2b_base64(letters + "=" * (-len(letters) % 4))
