"""Cleaning of the names, types, keywords and descriptions that a model writes.

Each function returns the empty string for a value that cannot be used, and returns its own results unchanged.
"""

import html
import re
from collections.abc import Callable
from functools import lru_cache

_MAX_NAME_CHARACTERS = 256
_MAX_NAME_BYTES = 512
# Each pass removes one layer (`&amp;lt;`, quotes within quotes). Text that needs more is garbage.
_MAX_PASSES = 8

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_TAGS = re.compile(r"</?(?:p|br)\s*/?>", re.IGNORECASE)
_TO_ASCII = {
    **{wide: chr(ord(wide) - 0xFEE0) for wide in "０１２３４５６７８９－＋／＊（）"},
    **{chr(ord(start) + index): chr(ord(start) + index - 0xFEE0) for start in "Ａａ" for index in range(26)},
    "—": "-",
    "\u3000": " ",
}
_WIDE = re.compile(f"[{''.join(_TO_ASCII)}]")
_OUTER_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("《", "》"))

_HAN_AND_KANA = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_SIDE = r"a-zA-Z0-9()\[\]@#$%!&*\-=+_"


def _spaces_in(script: str) -> re.Pattern[str]:
    # Each branch begins with the space, which is quicker to find than the character before it.
    return re.compile(rf"\s(?<=[{script}]\s)\s*+(?=[{script}{_SIDE}])|\s(?<=[{_SIDE}]\s)\s*+(?=[{script}])")


# Korean prose is written with spaces between words; only in names do they come and go.
_NAME_SPACES = _spaces_in(_HAN_AND_KANA + _HANGUL)
_PROSE_SPACES = _spaces_in(_HAN_AND_KANA)

_QUOTES_AT_CJK = re.compile(
    rf"(?<!['\"‘’])['\"‘’]++(?=[{_HAN_AND_KANA}{_HANGUL}])|(?<=[{_HAN_AND_KANA}{_HANGUL}])['\"‘’]+"
)
_OPENING_SINGLE_QUOTE = re.compile(r"(?<!\w)‘")
_STRAY_QUOTES = re.compile(r"(?<!\w)[‘’](?!\w)")
_SINGLE_QUOTES = re.compile(r"(?<!\w)[‘’]|[‘’](?!\w)")
# Nothing that any rule below could change: ASCII from a letter to the end of a word or sentence, without & and <.
_PLAIN = re.compile(r"[A-Za-z](?:[ !-%'-;=-~]*[!-%'-;=-~])?")
_SHORT_NUMBER = re.compile(r"[0-9]{1,2}|[0-9.]*\.[0-9.]*")

_NO_TYPE = re.compile(r".*['()<>|/\\].*|__proto__|constructor|prototype")


def normalise_name(text: str) -> str:
    """Return an entity's name on one line: without markup, control characters and quotes, cut to its limits."""
    return _cut(_settled(text, _name_pass))


@lru_cache(maxsize=1024)
def normalise_type(text: str) -> str:
    """Return the first of the comma-separated types, lower case and without spaces."""
    parts = normalise_keywords(text).split(",")
    first = next(filter(None, map(str.strip, parts)), "")
    kind = normalise_name("".join(first.split()).lower())
    return "" if _NO_TYPE.fullmatch(kind) else kind


def normalise_keywords(text: str) -> str:
    """Return keywords separated by ASCII commas, cleaned as a name is."""
    return _settled(text, _name_pass).replace("，", ",")


def normalise_description(text: str) -> str:
    """Return a description, cleaned as a name is, but with its line breaks and the quotes inside it."""
    return _settled(text, _description_pass)


def _settled(text: str, clean: Callable[[str], str]) -> str:
    if _PLAIN.fullmatch(text) and "  " not in text:
        return text
    for _ in range(_MAX_PASSES):
        before, text = text, clean(text)
        if text == before:
            return text
    return ""


def _name_pass(text: str) -> str:
    text = " ".join(_cleaned(text, _NAME_SPACES).split())
    if text.isascii():
        return text
    text = _QUOTES_AT_CJK.sub("", text).replace("“", "").replace("”", "")
    # Without an opening quote, ’ is an apostrophe: O’Brien, the Workers’ Party.
    quotes = _SINGLE_QUOTES if _OPENING_SINGLE_QUOTE.search(text) else _STRAY_QUOTES
    return quotes.sub("", text)


def _description_pass(text: str) -> str:
    return _cleaned(text, _PROSE_SPACES)


def _cleaned(text: str, spaces: re.Pattern[str]) -> str:
    if "&" in text:
        text = html.unescape(text)
    if not text.isprintable():
        text = _UNSAFE.sub("", text)
    if "<" in text:
        text = _LINE_TAGS.sub("", text)
    if not text.isascii():
        text = spaces.sub("", _WIDE.sub(lambda wide: _TO_ASCII[wide[0]], text))
    text = text.strip()
    for opening, closing in _OUTER_QUOTES:
        if text.startswith(opening) and text.endswith(closing):
            inner = text[1:-1]
            if opening not in inner and closing not in inner:
                text = inner.strip()
    return "" if len(text) < 6 and _SHORT_NUMBER.fullmatch(text) else text


def _cut(name: str) -> str:
    if len(name) * 4 <= _MAX_NAME_BYTES:
        return name
    short = name[:_MAX_NAME_CHARACTERS]
    return short.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").rstrip()
