"""Cleaning of the names, types, keywords and descriptions that a model writes.

Each function returns the empty string for a value that cannot be used, and returns its own results unchanged. Marks of
Markdown go from names, types and keywords; in descriptions they may mean something.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from lightrag_dagster.core.text.sanitise import with_characters

MAX_NAME_CHARACTERS = 256
_MAX_NAME_BYTES = 512
# Each pass removes one layer (`&amp;lt;`, quotes within quotes). Text that needs more is garbage.
_MAX_PASSES = 8

_NO_WORD = re.compile(r"[\W_]+")
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
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u312f\u3190-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_SIDE = r"a-zA-Z0-9()\[\]@#$%!&*\-=+_\u00b7"
# Punctuation that is written without spaces.
_MARKS = "\u3001-\u3004\u3008-\u3020\uff01-\uff65"

# Control characters, surrogates, and invisible characters: soft hyphens, marks of direction, zero-width spaces.
_NOTHING = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
)
# Joiners have a meaning in emoji and in Arabic, Persian and Indic script.
_JOINED = f"[^\x00-\u05ff\u2000-\u206f{_HAN_AND_KANA}{_HANGUL}]"
_INVISIBLE = re.compile(f"[{_NOTHING}]|[\u200c\u200d](?:(?!{_JOINED})|(?<!{_JOINED}.))")


def _spaces_in(script: str) -> re.Pattern[str]:
    # Each branch begins with the space, which is quicker to find than the character before it.
    inside, letter, side = f"[{script}{_MARKS}]", f"[{script}]", f"[{_SIDE}]"
    pairs = [(inside, inside), (letter, side), (side, letter)]
    return re.compile("|".join(rf"\s(?<={before}\s)\s*+(?={after})" for before, after in pairs))


# Korean prose is written with spaces between words; only in names do they come and go.
_NAME_SPACES = _spaces_in(_HAN_AND_KANA + _HANGUL)
_PROSE_SPACES = _spaces_in(_HAN_AND_KANA)

_QUOTE = re.compile("['\"‘’“”]")
_QUOTES_AT_CJK = re.compile(
    rf"(?<!['\"‘’])['\"‘’]++(?=[{_HAN_AND_KANA}{_HANGUL}])|(?<=[{_HAN_AND_KANA}{_HANGUL}])['\"‘’]+"
)
_OPENING_SINGLE_QUOTE = re.compile(r"(?<!\w)‘")
_STRAY_QUOTES = re.compile(r"(?<!\w)[‘’](?!\w)")
_SINGLE_QUOTES = re.compile(r"(?<!\w)[‘’]|[‘’](?!\w)")
# A text that no rule below could change: ASCII from a letter to the end of a word or sentence, without & < : = and the
# marks of Markdown.
_PLAIN = re.compile(r"[A-Za-z](?:[ !-%'-)+-9;>-Z\]^_a-~]*[!-%'-)+-9;>-Z\]^_a-~])?")
_SHORT_NUMBER = re.compile(r"[0-9]{1,2}|[0-9.]*\.[0-9.]*")


def _label(words: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<mark>[\"'*`]{{0,3}})(?:{words})(?:(?P=mark)\s*[:：=]|\s*[:：=](?P=mark))(?![:=])\s*(?=\S)", re.IGNORECASE
    )


# Labels that a model may write before a value: `Name: Alice`, `entity_type=person`, `**Target entity:** Acme`.
_RELATION_END = r"(?:source|target|src|tgt|head|tail|subject|object)[ _-]?"
_NAME_LABEL = _label(
    rf"(?:{_RELATION_END})?(?:(?:entity|node)(?:[ _-]?name)?(?:[ _#-]{{0,2}}\d+)?|name)|source|target|src|tgt"
)
_TYPE_LABEL = _label(r"(?:(?:entity|node)[ _-]?)?(?:types?|category|class|kind)")
_KEYWORDS_LABEL = _label(r"(?:relation(?:ship)?[ _-]?)?(?:keywords?|types?)")
_DESCRIPTION_LABEL = _label(r"(?:(?:entity|node|relation(?:ship)?)[ _-]?)?desc(?:ription)?")

# `**Corley**`, `*Homo sapiens*`, code in backticks; underscores unless the text is an identifier, such as `__init__`.
_EMPHASIS = re.compile(
    r"(?<![\w*])(?P<star>\*{1,3})(?=[^\s*])(?P<starred>[^*]+)(?<=\S)(?P=star)(?![\w*])"
    r"|\A~~(?P<struck>[^~]+)~~\Z|(?P<tick>`+)(?P<code>[^`]+)(?P=tick)"
    r"|(?<!\w)(?P<under>_{1,2})(?P<lined>[^\W_][^_]* [^_]*[^\s_]|[A-Z][a-z]+)(?P=under)(?!\w)"
)
_HEADING_OR_LINK = re.compile(r"\A#{1,6}\s+|!?\[(?P<shown>[^\[\]]+)\]\((?:https?:|[/#.])[^()\s]*\)")
_WIKI_OR_TAG = re.compile(
    r"(?<!\w)\[\[(?:[^\[\]|]*\|)?(?P<shown>[^\[\]|]+)\]\]|<(?P<tag>b|i|u|em|strong|mark|code)>(?P<inner>[^<>]+)</(?P=tag)>",
    re.IGNORECASE,
)
_AMPERSAND = re.compile("&amp(?![a-z;])")  # as in `R&ampD`; `&region=` of an address is no character
_ESCAPED_MARK = re.compile(r"\\(?=[*_`#\[\]])")

USUAL_TYPES = {
    *("person", "creature", "organization", "location", "event", "concept"),
    *("method", "content", "data", "artifact", "naturalobject", "other"),
}
"""The types that the prompts suggest."""

_TYPE_ENDS = re.compile(r"[,;，；、/|／｜()（）]|\s(?:or|oder|ou)\s", re.IGNORECASE)
_TYPES_JOINED = re.compile(r"\s(?:and|und|et|y|&|\+)\s", re.IGNORECASE)
_NO_TYPE = re.compile(r".*['<>\\].*|__proto__|constructor|prototype")


def visible(text: str) -> str:
    """Remove control and invisible characters, except spaces and joiners inside words and emoji."""
    return _INVISIBLE.sub("", text)


def unescaped(text: str) -> str:
    """Replace HTML's character references, nested ones too; those of no character (`&#0;`) vanish."""
    for _ in range(_MAX_PASSES):
        characters = with_characters(_AMPERSAND.sub("&", text))
        if "\ufffd" not in text:
            characters = characters.replace("\ufffd", "")
        if characters == text:
            break
        text = characters
    return text


def normalise_name(text: str) -> str:
    """Return an entity's name on one line: no label, markup, invisible character or quotes; none if it is too long."""
    name = _settled(text, _name_pass)
    if len(name) > MAX_NAME_CHARACTERS:
        return ""
    return name if len(name) * 4 <= _MAX_NAME_BYTES else _settled(_cut(name), _name_pass)


@lru_cache(maxsize=1024)
def folded(name: str) -> str:
    """Return a relation or a type as it is compared: without case, marks and the width of its letters."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


@lru_cache(maxsize=1024)
def normalise_type(text: str) -> str:
    """Return the first type of a list, lower case, without spaces and cut as names are; it may be in brackets."""
    kind = _repeated(text, _type_pass)
    if len(kind) * 4 > _MAX_NAME_BYTES:
        kind = _repeated(_cut(kind), _type_pass)
    return "" if _NO_TYPE.fullmatch(kind) else kind


def normalise_keywords(text: str) -> str:
    """Return keywords separated by ASCII commas, cleaned as a name is."""
    return _settled(text, lambda one: _one_line(_without(_KEYWORDS_LABEL, one)).replace("，", ","))


def normalise_description(text: str) -> str:
    """Return a description, cleaned as a name is, except for its line breaks and the quotes inside it."""
    return _settled(text, lambda one: _cleaned(_without(_DESCRIPTION_LABEL, one), _PROSE_SPACES))


def _settled(text: str, clean: Callable[[str], str]) -> str:
    return text if _PLAIN.fullmatch(text) and "  " not in text else _repeated(text, clean)


def _repeated(text: str, clean: Callable[[str], str]) -> str:
    for _ in range(_MAX_PASSES):
        before, text = text, clean(text)
        if text == before:
            return text
    return ""


def _name_pass(text: str) -> str:
    return _one_line(_without(_NAME_LABEL, text))


def _type_pass(text: str) -> str:
    types = _TYPE_ENDS.split(_one_line(_without(_TYPE_LABEL, text)))
    first = next(filter(None, (one.strip(" []{}【】［］") for one in types)), "")
    usual = "".join(_TYPES_JOINED.split(first)[0].lower().split())
    return usual if usual in USUAL_TYPES else "".join(first.lower().split())


def _without(label: re.Pattern[str], text: str) -> str:
    found = label.match(text) if ":" in text or "=" in text or "：" in text else None
    return text[found.end() :] if found else text


def _unmarked(text: str) -> str:
    """Return a name or type without the marks of Markdown; a star or underscore inside a word is part of it."""
    if not any(mark in text for mark in "*`_[#\\<~"):
        return text
    text = _WIKI_OR_TAG.sub(lambda found: found["shown"] or found["inner"], text)
    text = _HEADING_OR_LINK.sub(lambda found: found["shown"] or "", _ESCAPED_MARK.sub("", text.strip()))
    return _EMPHASIS.sub(lambda found: found["starred"] or found["struck"] or found["code"] or found["lined"], text)


def _one_line(text: str) -> str:
    text = _unmarked(" ".join(_cleaned(text, _NAME_SPACES).split()))
    if text.isascii() or not _QUOTE.search(text):
        return text
    text = _QUOTES_AT_CJK.sub("", text).replace("“", "").replace("”", "")
    # Without an opening quote, ’ is an apostrophe: O’Brien, the Workers’ Party.
    quotes = _SINGLE_QUOTES if _OPENING_SINGLE_QUOTE.search(text) else _STRAY_QUOTES
    return quotes.sub("", text)


def _cleaned(text: str, spaces: re.Pattern[str]) -> str:
    if "&" in text:
        text = unescaped(text)
    if not text.isprintable():
        text = visible(text)
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
    return name[:MAX_NAME_CHARACTERS].encode()[:_MAX_NAME_BYTES].decode(errors="ignore").rstrip()
