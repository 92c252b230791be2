"""The header of a mail, also of one that is written wrongly."""

import email.policy
import quopri
import re
from email.message import EmailMessage, Message
from functools import lru_cache
from itertools import groupby
from typing import Any, cast

from lightrag_dagster.readers.mail.charsets import decode_text, in_ascii
from lightrag_dagster.readers.mail.payloads import decode_base64

_ENCODED = re.compile(r"=\?([^?\s]{1,40}?)(?:\*[^?]*)?\?([bBqQ])\?(.*?)(?:\?=|\Z)", re.DOTALL)
_BETWEEN = re.compile(r"(?<=\?=)\s+(?==\?)")
_LONG = 5000  # characters; the library takes seconds for more
_SURROGATE = re.compile("[\ud800-\udfff]")
_FOLDED = re.compile(r"\r?\n[ \t]*")


class _Policy(email.policy.EmailPolicy):
    """The library's policy, which parses a header once and not each time that a part is asked for its type."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Return a header with its parts."""
        return _parsed(name, value)


_POLICY: Any = _Policy()


@lru_cache(maxsize=500)
def _parsed(name: str, value: str) -> Any:
    return email.policy.default.header_fetch_parse(name, value)


def parse_mail(data: bytes) -> EmailMessage:
    """Return a mail with its parts."""
    return cast(EmailMessage, email.message_from_bytes(in_ascii(data), policy=_POLICY))


def header(message: Message, name: str) -> str:
    """Return a header as people read it, "" if there is none.

    The library reads what is right. Raw bytes and encoded words that it leaves or spoils are decoded here.
    """
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), None)
    if raw is None:
        return ""
    raw = _without_bytes(str(raw))
    if len(raw) > _LONG:
        return decode_header(raw)
    try:
        found = str(email.policy.default.header_factory(name, _FOLDED.sub(" ", raw)))
    except (ValueError, AttributeError, TypeError, LookupError, OverflowError):  # on some broken headers
        found = ""
    return found if found and "=?" not in found and "\ufffd" not in found else decode_header(raw)


def decode_header(raw: str) -> str:
    """Return a header with its raw bytes and its encoded words decoded, also those that break the rules."""
    raw = _BETWEEN.sub("", _FOLDED.sub(" ", _without_bytes(raw)))
    texts, end = list[str](), 0
    words = [(found, found[1].casefold()) for found in _ENCODED.finditer(raw)]
    for _, group in groupby(words, key=lambda one: one[1]):
        data = b""
        for found, charset in group:
            if found.start() > end:
                texts += [_text(data, charset), raw[end : found.start()]]
                data = b""
            data += _bytes(found[2], found[3])
            end = found.end()
        texts.append(_text(data, charset))
    return "".join([*texts, raw[end:]]).strip()


def _without_bytes(raw: str) -> str:
    """Return a header whose bytes beyond ASCII, which the library keeps as surrogates, are decoded."""
    return decode_text(raw.encode("utf-8", "surrogateescape"), None).text if _SURROGATE.search(raw) else raw


def _bytes(encoding: str, text: str) -> bytes:
    if encoding in "qQ":
        return quopri.decodestring(text.replace("_", " ").encode("utf-8", "replace"), header=True)
    return decode_base64(text)


def _text(data: bytes, charset: str) -> str:
    return decode_text(data, charset).text if data else ""
