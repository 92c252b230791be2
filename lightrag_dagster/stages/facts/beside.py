"""Words and signs beside a number in a passage that belong to it, and that a model may have left out."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from lightrag_dagster.stages.facts.lexicon import listed, meanings
from lightrag_dagster.stages.facts.values import read_number

_NEAR = 60
"""Characters before and behind a number that are looked at."""

_ALSO_AT = frozenset(("a", "à", "au", "al"))
"""Words for to that say the price of one too: 3 voitures à 40 €."""

_SIGNS = "€$£¥₹₽₩₺₴₪฿₫₦"
_DASH = "[-‐‑–—−~]"
_CUT_BEHIND = re.compile(
    rf"{_DASH}[{_SIGNS}]?\d|[-−](?=[\s|]|\Z)|(?<=\d)[^\S\n]?[/⁄×x*·^][^\S\n]?\d|[\s-]?[¼-¾⅐-⅞]|\d"
    r"|[ \xa0\u202f’']\d{3}(?!\d)|[\s-]{0,2}(?:(?:percentage|basis)[ -]points?|prozentpunkt\w*|pp|bps?)(?!\w)",
    re.IGNORECASE,
)
_CUT_BEFORE = re.compile(
    rf"(?<![^\W\d_])\d[\d.,]*\s?(?:[^\W\d_]{{1,3}}|[{_SIGNS}%])?{_DASH}\Z"
    r"|\d[^\S\n]?[/⁄×*·^][^\S\n]?\Z|(?:[≤≥±−]|(?<=[ (|])[<>]=?)[^\S\n]?\Z"
    r"|(?<![\w)])[-–]\Z"
    r"|(?<!\w)(?:minus|moins|meno|menos|минус)\s\Z|(?<![\d.,])\d{1,3}[ \xa0\u202f’']\Z",
    re.IGNORECASE,
)
_POINTS = re.compile(r"[\s-]{0,2}(?:points?|punkte?n?)(?!\w)", re.IGNORECASE)
_CELL = re.compile(r"(?:^|[|\n\t])\s*\(\Z")


class _Patterns(NamedTuple):
    more_before: re.Pattern[str]
    more_behind: re.Pattern[str]
    more_of_money: re.Pattern[str]
    ranges: re.Pattern[str]
    no_range: re.Pattern[str]
    minus_before: re.Pattern[str]
    minus_behind: re.Pattern[str]


def whole_amount(text: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the place of an amount with the scale word, currency or `%` beside it; None if it is a part of another.

    A place in doubt stays as it is.
    """
    known = _patterns()
    unit, ends_in_digit = _unit(text[first:last]), text[last - 1].isdigit()
    if unit == "" and (more := known.more_before.search(text[max(0, first - _NEAR) : first])):
        first -= len(more[0])
        unit = _unit(text[first:last])
    if unit is not None and (ends_in_digit or not unit):
        more = (known.more_of_money if unit else known.more_behind).match(text, last)
        last += len(more[0].rstrip(".")) if more else 0
    before, behind = text[max(0, first - _NEAR) : first], text[last : last + _NEAR]
    found = _CUT_BEFORE.search(before)
    if _CUT_BEHIND.match(text, last) or (found and _is_cut(found[0], text[first:last])):
        return None
    if (_unit(text[first:last]) or "").startswith("%") and _POINTS.match(behind):
        return None
    is_part = _is_minus(before, text[first:last], behind) or _is_in_range(text, first, last)
    return None if is_part else (first, last)


def _unit(amount: str) -> str | None:
    read = read_number(amount, ".") or read_number(amount, ",")
    return read and read[1]


def _is_minus(before: str, amount: str, behind: str) -> bool:
    """Say whether an amount is in brackets, as accountants write a minus: in a cell, or beside a currency or `%`."""
    if not (before.endswith("(") and behind.startswith(")")):
        return False
    is_plain = not re.search(r"[^\d.,'’ ]", amount)
    is_beside = _patterns().minus_before.search(before) or _patterns().minus_behind.match(behind)
    return bool(_CELL.search(before) or (is_plain and is_beside))


def _is_in_range(text: str, first: int, last: int) -> bool:
    """Say whether an amount is an end of a range, but not of a change: "from 5 to 7 kg", "grew by 2 to 7 kg"."""
    known, begin = _patterns(), max(0, first - _NEAR)
    near = text[begin : last + _NEAR]
    return any(
        found.start() < last - begin
        and first - begin < found.end()
        and not known.no_range.search(near[: found.start()])
        for found in known.ranges.finditer(near)
    )


def _is_cut(before: str, amount: str) -> bool:
    """Say whether an amount is cut by what stands before; a number and a space do that before a group of three."""
    return not re.fullmatch(r"\d{1,3}[ \xa0\u202f’']", before) or bool(re.match(r"\d{3}(?!\d)", amount))


@cache
def _patterns() -> _Patterns:
    scales = _any(listed("scales", "scales beside decimal commas"))
    codes = {word for word, code in meanings("units").items() if code != "%"} | listed("currencies before")
    units, money, measures = _any(listed("units") | codes), _any(codes), _any(listed("measures"))
    to = _any(word for word in listed("to") - _ALSO_AT if word.isalpha())
    between, joined, change = _any(listed("between")), _any(listed("and")), _any(listed("since", "by"))
    number, ahead, named = r"\d[\d.,]*", rf"(?:(?:{money}) ?)?", r"[^\S\n]?(?P<unit>[^\s\d]{1,12}(?: [^\s\d]{1,12})?)"
    apart = rf"(?:\s(?:{to})\s|[^\S\n]{_DASH}[^\S\n])"
    return _Patterns(
        re.compile(rf"(?<![\d\w])(?<!\d )(?:{money})[^\S\n]?\Z", re.IGNORECASE),
        re.compile(
            rf"(?:[\s-]?(?:{scales})\.?|(?<=\d)k(?!\w)|(?<=\d)[mb](?=[^\S\n]?(?:{money})))*"
            rf"(?:(?:(?<=mio|mrd|tsd|mln)\.)?[^\S\n]?(?:(?:de|di) |d['’])?(?:{units})|(?<=\d)(?:{measures})(?!\w))?",
            re.IGNORECASE,
        ),
        re.compile(rf"(?:[\s-]?(?:{scales})\.?|(?<=\d)[kmb](?!\w))*", re.IGNORECASE),
        re.compile(
            rf"(?P<sign>{money})[^\S\n]?{number}[^\d\n]{{0,12}}?{apart}(?P=sign)[^\S\n]?{number}"
            rf"|{number}{named}{apart}{ahead}{number}[^\S\n]?(?P=unit)(?!\w)"
            rf"|(?<![\w.,{_SIGNS}]){number}\s(?:{to})\s{ahead}{number}"
            rf"|(?:{between})\s{ahead}{number}(?:\s?[^\s\d]{{1,12}})?\s(?:{joined})\s{ahead}{number}",
            re.IGNORECASE,
        ),
        re.compile(rf"(?:{change})\s{ahead}\Z", re.IGNORECASE),
        re.compile(rf"(?:{money})[^\S\n]?\(\Z", re.IGNORECASE),
        re.compile(rf"\)[^\S\n]?(?:{units})", re.IGNORECASE),
    )


def _any(words: Iterable[str]) -> str:
    """Return a pattern of any of some words, which end where they do if they have letters with case."""
    made = sorted(words, key=len, reverse=True)
    return "|".join(
        rf"(?<![^\W\d_]){re.escape(one)}(?!\w)" if one[-1].lower() != one[-1].upper() else re.escape(one)
        for one in made
    )
