"""The texts of a mail, in order, one form of each; and its other parts."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from email.message import EmailMessage
from typing import NamedTuple, cast

from lightrag_dagster.readers.html.words import all_text
from lightrag_dagster.readers.mail.charsets import decode_text
from lightrag_dagster.readers.mail.headers import decode_header, parse_mail
from lightrag_dagster.readers.mail.payloads import payload

CALENDARS = ("text/calendar", "application/ics")
MAILS = ("message/rfc822", "message/global", "message/news")
HEADERS = "text/rfc822-headers"
_NO_TEXTS = (*CALENDARS, HEADERS)
_BOUNDARY = re.compile(rb"^--([^\r\n]{1,200}?)[ \t]*\r?\n(?=Content-[A-Za-z-]+:)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{4,}|\d+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ADDRESS = re.compile(r"https?://\S+|\S+@\S+")
_FLOWED = re.compile(r"^((?!>|-- \n).*) \n(?![>\n]|-- \n)", re.MULTILINE)  # RFC 3676: lines to join, with `delsp`
_ENRICHED = re.compile(r"<(<)|<param>[^<]*</param>|</?[A-Za-z][\w-]*>", re.IGNORECASE)  # RFC 1896
_LACKED = 0.25  # of the words of a page; a plain text without more lacks something, such as a table
_FOOTER = 10  # words, which a page has besides
_STUB = 400  # characters
_SHARED = 0.25  # of the words of a stub, those that are in the page by chance
_SAID = 0.5  # of the words of a text that was chosen already in its other form


class Piece(NamedTuple):
    """A part of a mail; a text has a kind, `plain` or `html` or another, and what is in doubt."""

    part: EmailMessage
    kind: str = ""
    text: str = ""
    note: str | None = None

    @property
    def words(self) -> str:
        """The text without markup."""
        return all_text(self.text) if self.kind.endswith("html") and self.text.strip() else self.text


class Bodies:
    """The pieces of a mail: `texts`, `others`, and `left_out`, which are other forms of the texts."""

    def __init__(self, message: EmailMessage) -> None:
        self.left_out: list[Piece] = []
        self._message = message
        self._named = False
        self._damaged: list[Piece] = []
        found = list(self._walk(message))
        self.texts = [one._replace(kind="html" if one.kind == "x-amp-html" else one.kind) for one in found if one.kind]
        self.others = [one for one in found if not one.kind]
        if not any(one.text.strip() for one in self.texts):
            self.texts += self._damaged

    def _walk(self, part: EmailMessage) -> Iterator[Piece]:
        left = [part]
        while left:
            one = left.pop()
            kind, is_top = one.get_content_type(), one is self._message
            main, _, subtype = kind.partition("/")  # each look at the header parses it again
            apart = not is_top and one.get_content_disposition() == "attachment"
            if main == "multipart" and not (apart and one.is_multipart()):
                if not one.is_multipart():
                    left += self._mended(one)
                elif kind == "multipart/alternative":
                    yield from self._alternative(cast(list[EmailMessage], one.get_payload()))
                else:
                    left += reversed(cast(list[EmailMessage], one.get_payload()))
            elif main == "message" and kind not in MAILS and one.is_multipart():
                fields = cast(list[EmailMessage], one.get_payload())
                yield Piece(one, "plain", "\n\n".join(filter(None, map(_fields, fields))))
            elif main != "text" or apart or kind in _NO_TEXTS or self._is_file(one, is_top):
                yield Piece(one)
            else:
                yield _text(one, subtype)

    def _mended(self, part: EmailMessage) -> list[EmailMessage]:
        """Return parts that no line divides as the header says, divided by the first line that may do so."""
        data = payload(part)[0]
        found = _BOUNDARY.search(data)
        if found and b'"' not in found[1]:
            head = b'Content-Type: %s; boundary="%s"\n\n' % (part.get_content_type().encode(), found[1])
            mended = parse_mail(head + data)
            if mended.is_multipart():
                return [mended]
        self._damaged.append(_text(part, "plain"))
        return []

    def _is_file(self, part: EmailMessage, is_top: bool) -> bool:
        """Return True for a text with a name, unless it is the first text: some programs name that too."""
        first, self._named = not self._named, True
        return not (first or is_top) and bool(file_name(part))

    def _alternative(self, parts: Sequence[EmailMessage]) -> Iterator[Piece]:
        """Yield one form of a text, and everything that its other forms have besides."""
        forms = [list(self._walk(part)) for part in parts]
        kinds = [next((piece.kind for piece in form if piece.kind), "") for form in forms]
        plain, page = (
            [one for one, kind in zip(forms, kinds, strict=True) if kind == name] for name in ("plain", "html")
        )
        chosen = "html" if page and _is_stub(_joined(plain), page) else "plain" if plain else "html" if page else ""
        if not chosen:
            chosen = next(filter(None, kinds), "")
        said = {*_words(_joined([form for form, kind in zip(forms, kinds, strict=True) if kind == chosen]))}
        read = set[str]()
        for form, kind in zip(forms, kinds, strict=True):
            texts = [piece for piece in form if piece.kind]
            for piece in form:
                if piece.kind and (
                    piece.text.strip() in read or (kind != chosen and (piece is texts[0] or _is_said(piece, said)))
                ):
                    self.left_out.append(piece)
                    continue
                read.update({piece.text.strip()} if piece.kind else ())
                yield piece


def file_name(part: EmailMessage) -> str:
    """Return the name of a part on one line, "" if it has none that can be read."""
    try:
        return " ".join(decode_header(part.get_filename() or "").split())
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):  # the library fails on some broken headers
        return ""


def _text(part: EmailMessage, kind: str) -> Piece:
    data, damage = payload(part)
    text, doubt = decode_text(data, part.get_content_charset())
    return Piece(part, kind, joined_lines(part, text), damage or doubt)


def joined_lines(part: EmailMessage, text: str) -> str:
    """Return a text without markup, with lines joined that go on without the space at their end, by its type."""
    text = text.replace("\r\n", "\n")
    text = _ENRICHED.sub(r"\1", text) if part.get_content_subtype() == "enriched" else text
    return _FLOWED.sub(r"\1", text) if str(part.get_param("delsp")).lower() == "yes" else text


def _fields(part: EmailMessage) -> str:
    header = "\n".join(f"{name}: {decode_header(str(value))}" for name, value in part.raw_items())
    return "\n\n".join(filter(None, (header, "" if part.is_multipart() else _text(part, "plain").text.strip())))


def _joined(forms: Sequence[Sequence[Piece]]) -> str:
    return "\n".join(piece.words for form in forms for piece in form if piece.kind)


def _words(text: str) -> list[str]:
    return _WORD.findall(_ADDRESS.sub(" ", text).casefold())


def _is_stub(plain: str, page: Sequence[Sequence[Piece]]) -> bool:
    """Return True if a plain text lacks many words of the page, or takes its place: short, with few of its words."""
    if not plain.strip():
        return True
    words, others = Counter(_words(plain)), Counter(_words(_joined(page)))
    lacks = (others - words).total() > max(_FOOTER, _LACKED * others.total())
    if lacks and (words - others).total() <= _LACKED * words.total():
        return others.total() > words.total()
    shared = sum(words[word] for word in others)
    return len(plain) <= _STUB and 2 * others.total() > words.total() and shared <= _SHARED * words.total()


def _is_said(piece: Piece, said: set[str]) -> bool:
    words = {*_words(piece.words)}
    return len(words & said) >= _SAID * len(words)
