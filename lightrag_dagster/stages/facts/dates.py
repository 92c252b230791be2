"""Absolute dates in words, in eleven languages; neither today's date nor a locale has a part in it.

A text is read as a whole: a word that is neither part of a date nor known to leave it as it is (`ago`, `about`,
`employees`) makes it unread. So does a date that can be read in two ways.
"""

import re
import unicodedata
from calendar import monthrange
from datetime import date
from functools import cache, lru_cache
from typing import NamedTuple

from lightrag_dagster.stages.facts.lexicon import listed, meanings, sections

_LONGEST = 200
"""Characters of a text that may be a date."""

_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff"
_NUMERALS = "〇一二三四五六七八九"
_TIME = re.compile(r"(?<=\d)[t ]\d\d?:\d\d\S*")
_SHORT_END = re.compile(r"(?<!\d)([12]\d)(\d\d)([-/])(1[3-9]|[2-9]\d)(?![-/.]?\d)")  # 2019/20
_A = re.compile(
    r"^a (?=partire? |principios |inicios |finales |\d)|(?<=fino )a "
)  # of dates in Spanish and Italian; elsewhere as in `a year`
_DO = re.compile(r"^(od .*\b)?do (?!.*\b(?:de|ano|mês|dia|(?:tri|se)mestre|início|fim)\b)|(?<=\d\. )listopada(?!\w)")
"""The Polish word for until, which in Portuguese is `of the`; and October in Croatian, which in Polish is November."""

_ERAS = {"昭和": 1925, "平成": 1988, "令和": 2018}
_ERA = re.compile(rf"({'|'.join(_ERAS)})(元|\d\d?)(?=年)")
_AFTER = "until, after the date"
_UNREAD = (None, "unread")
_PUNCTUATION = frozenset("()[].,;:'\"’“”„«»、。，")

_Y = r"([12]\d{3})(?!\d)"
_NTH = r"(?:\.?(?:st|nd|rd|th|er|e|o|a|de)(?![^\W\d_])|-(?:го|й|м|е)(?!\w)|[.°])?"
_N = rf"(\d\d?)(?!\d){_NTH}"
_M = r"<([mqh]\d\d?)>"
_OF = r"[ .,/-]{0,2} ?(?:(?:of|de|del|di|des|do|du|den|im|van)\b ?)?"
_QUARTER = re.compile(rf"第?(?<!\d)([1-4])(?!\d){_NTH} ?<([qh])>|<([qh])>\.? ?([1-4])(?!\d)")
_SPANS = {None: (1, 12), -1: (1, 3), -2: (4, 6), -3: (7, 9), -4: (10, 12), -11: (1, 6), -12: (7, 12)}
_FORMS = (
    ("yxmd", r"([12]\d{3})(?P<s0>[-/.])(\d\d?)(?P=s0)(\d\d?)(?!\d)"),
    ("ymd", r"(?<!\d)((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)"),
    ("axby", r"(\d\d?)(?P<s1>[-/.]) ?(\d\d?)(?P=s1) ?" + _Y),
    ("dm", r"(\d\d?)\. ?(\d\d?)\.(?= ?(?:-|(?:bis|until)\b))"),
    ("dmy", f"{_N}{_OF}{_M}(?:{_OF}{_Y})?"),
    ("mdy", f"{_M}{_OF}{_N}(?:{_OF}{_Y})?"),
    ("my", f"{_M}(?:{_OF}{_Y})?"),
    ("ymd", f"{_Y}[ ,./-]{{0,2}}{_M}(?!{_OF}[12]\\d{{3}})(?:[ ,.-]{{0,2}}{_N})?"),
    ("ym", _Y + r"-(\d\d)(?!\d)"),
    ("my", r"(\d\d)[./-]" + _Y),
    ("dy", f"{_N}(?:,? {_Y})?"),
    ("y", _Y),
)
"""Forms of dates, by the meanings of their groups; `a` and `b` are day and month, `x` stands between them."""


class When(NamedTuple):
    """First and last day of a time, with the precision in which they were written: day, month or year.

    An end in words that cannot be read has the precision `unread`, if the other end is a date.
    """

    valid_from: date | None
    from_precision: str | None
    valid_to: date | None
    to_precision: str | None


class _Parts(NamedTuple):
    year: int | None
    month: int | None
    """Below zero: a quarter, or a half from -11."""
    day: int | None


@lru_cache(maxsize=4096)
def read_when(words: str) -> When | None:
    """Return the time that words name; None if it is not absolute, or they say something else as well.

    A date alone, or after `since`, opens a time without an end. A quarter or a half has the precision of a month.
    """
    text = _plain(words)
    return _whole(text) or _half(text)


def _whole(text: str) -> When | None:
    found = list(_pattern().finditer(text))
    if not 1 <= len(found) <= 2:
        return None
    edges = [0, *(edge for match in found for edge in match.span()), len(text)]
    before, *between, after = (_words(text[at:to]) for at, to in zip(edges[::2], edges[1::2], strict=True))
    first, last = _parts(found[0]), _parts(found[-1])
    if first is None or last is None:
        return None
    if between:
        return _range(first, last) if _joins(before, between[0], after) else None
    if before & listed("until") or after & listed(_AFTER):
        end = _day(first, last=True)
        is_end = before <= listed("around", "since", "until", "end") and after <= listed("around", "end", _AFTER)
        return When(None, None, *end) if end and is_end else None
    since = listed("around", "since", "start")
    goes_on = after & listed("to") and after & listed("today") and after <= listed("around", "to", "today")
    start = _day(first)
    return When(*start, None, None) if start and before <= since and (after <= since or goes_on) else None


def _half(text: str) -> When | None:
    """Return the time of a range of which one end alone is a date: from March 2022 to the end of the lease."""
    first, *words = text.split(" ")
    closes = listed("to", "until")
    at = next((at for at, word in enumerate(words) if word.partition("'")[0] in closes), len(words))
    start = _date(" ".join(words[:at]))
    end = _date(" ".join(words[at + 1 :]), last=True)
    if first not in listed("since") or bool(start) == bool(end):
        return None
    return When(*(start or _UNREAD), *(end or _UNREAD))


def read_date(text: str) -> tuple[date, str] | None:
    """Return the date that a text is, and its precision; the first day of a month or year. None for a range."""
    return _date(_plain(text))


def leading_precision(text: str) -> str | None:
    """Return the precision of the date with which a text begins, which may be read in two ways; None without one."""
    found = _pattern().match(_plain(text))
    parts = _parts(found) if found else None
    day = _day(parts) if parts else None
    return day[1] if day else "day" if found and not parts else None


def _date(text: str, *, last: bool = False) -> tuple[date, str] | None:
    found = _pattern().search(text)
    parts = _parts(found) if found else None
    if not found or not parts or not _words(text[: found.start()] + " " + text[found.end() :]) <= listed("around"):
        return None
    return _day(parts, last=last)


def _plain(words: str) -> str:
    """Return words with months as `<m3>`, quarters as `<q3>`, halves as `<h2>` and all numbers in digits."""
    text = unicodedata.normalize("NFKC", words).casefold() if len(words) <= _LONGEST else ""
    text = re.sub("[‐-―−〜]", "-", " ".join(text.split())).replace("t/m", "tot")
    text = _SHORT_END.sub(r"\1\2\3\g<1>\4", _A.sub("", _TIME.sub("", _in_force().sub("", text))))
    text = _DO.sub(lambda match: f"{match[1] or ''}until " if match[0].endswith(" ") else "", text)
    months = meanings("months")
    quarters = meanings("quarters")
    ordinals = meanings("ordinals")

    def known(match: re.Match[str]) -> str:
        word = match[0]
        if word in months:
            return f"<m{months[word]}>"
        return f"<{quarters[word]}>" if word in quarters else ordinals.get(word, word)

    text = re.sub(f"[{_NUMERALS}十]+(?=[年月日号號]|<q>)", _in_digits, _tokens().sub(known, text))
    text = _ERA.sub(lambda match: str(_ERAS[match[1]] + int(match[2].replace("元", "1"))), text)
    text = re.sub(r"(?<=\d{4})年|(?<=\d)[日号號]", " ", re.sub(r"(\d\d?)月", r"<m\1>", text))
    return _QUARTER.sub(lambda match: f"<{match[2] or match[3]}{match[1] or match[4]}>", text)


def _in_digits(numeral: re.Match[str]) -> str:
    """Return a numeral such as 二〇二四, 十二 or 三十一 in digits."""
    tens, ten, ones = numeral[0].partition("十")
    written = f"{tens or '一'}{ones or '〇'}" if ten else tens
    return written.translate({ord(each): str(value) for value, each in enumerate(_NUMERALS)})


@cache
def _tokens() -> re.Pattern[str]:
    """Return the pattern of a word; those of languages without spaces are known words."""
    known = sorted((word for word in listed(*sections()) if re.match(f"[{_EAST_ASIAN}]", word)), key=len, reverse=True)
    return re.compile(f"{'|'.join(known)}|[^\\W\\d_{_EAST_ASIAN}]+|\\S")


@cache
def _in_force() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, listed('in force')))})(?!\w)")


@cache
def _pattern() -> re.Pattern[str]:
    """Return all forms as one pattern; the name of the form that matched is the last group to close."""
    named = (rf"(?P<{form}_{at}>{text})" for at, (form, text) in enumerate(_FORMS))
    return re.compile("|".join(named))


def _words(text: str) -> set[str]:
    return set(_tokens().findall(text)) - _PUNCTUATION


def _joins(before: set[str], between: set[str], after: set[str]) -> bool:
    """Say whether the words around two dates make them a range."""
    opens = before <= listed("around", "since", "between", "start")
    closes = between <= listed("around", "to", "until", "and", "end") and after <= listed("around", "end", _AFTER)
    is_range = between & listed("to") or (before & listed("between") and between & listed("and"))
    return bool(opens and closes and is_range)


def _parts(match: re.Match[str]) -> _Parts | None:
    """Return year, month and day of a match; None if it can be read in two ways."""
    form = str(match.lastgroup).partition("_")[0]
    at = match.lastindex or 0
    found = dict(zip(form, match.groups()[at : at + len(form)], strict=True))
    if "a" in found:
        a, b = int(found["a"]), int(found["b"])
        if found["x"] != "." and a <= 12 and b <= 12 and a != b:
            return None
        month_first = found["x"] != "." and b > 12
        found |= {"m": found["a"], "d": found["b"]} if month_first else {"d": found["a"], "m": found["b"]}
    signed = ((found.get(part) or "").replace("m", "").replace("q", "-").replace("h", "-1") for part in "ymd")
    return _Parts(*(int(number) if number else None for number in signed))


def _range(first: _Parts, last: _Parts) -> When | None:
    """Return the time between two dates, of which one may lack what the other says: 12 to 15 March 2024."""
    start, end = _day(_filled(first, last)), _day(_filled(last, first), last=True)
    return When(*start, *end) if start and end and start[0] <= end[0] else None


def _filled(one: _Parts, other: _Parts) -> _Parts:
    """Return a date with month and year of another; not if that is a mere year, as in `from May to 2019`."""
    month = one.month or (other.month if one.day else None)
    return _Parts(one.year or (other.year if month and (other.month or other.day) else None), month, one.day)


def _day(parts: _Parts, *, last: bool = False) -> tuple[date, str] | None:
    """Return the first or last day of a date, and its precision; None if there is no such day."""
    year, month, day = parts
    if year is None or (day is not None and (month is None or month < 0)):
        return None
    precision = "year" if month is None else "month" if day is None else "day"
    try:
        month = month if month and month > 0 else _SPANS[month][last]
        return date(year, month, (monthrange(year, month)[1] if last else 1) if day is None else day), precision
    except (ValueError, KeyError):
        return None
