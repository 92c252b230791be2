"""Words and signs beside a number in a passage that belong to it, and that a model may have left out."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from lightrag_dagster.stages.facts.lexicon import listed, meanings
from lightrag_dagster.stages.facts.values import read_number

_SHORT_UNIT = 2  # characters

_NEAR = 60
"""Characters before and behind a number that are looked at."""

_SIGNS = "€$£¥₹₽₩₺₴₪฿₫₦"
_DASH = "[-‐‑–—−~]"
_CUT_BEHIND = re.compile(
    rf"\s?{_DASH}\s?[{_SIGNS}]?\d|[-−](?=[\s|]|$)|\s?[/⁄×x*·^]\s?\d|[\s-]?[¼-¾⅐-⅞]|\d|[ \xa0\u202f’']\d{{3}}(?!\d)"
    r"|[\s-]{0,2}(?:(?:percentage|basis)[ -]points?|prozentpunkt\w*|pp|bps?)(?!\w)",
    re.IGNORECASE,
)
_CUT_BEFORE = re.compile(
    rf"(?<![^\W\d_])\d[\d.,]*\s?(?:[^\W\d_]{{1,3}}|[{_SIGNS}%])?\s?{_DASH}\s?$"
    r"|\d\s?[/⁄×*·^]\s?$|(?:[≤≥±−]|(?<=[ (|])[<>]=?)\s?$"
    r"|(?<![\w)])[-–]$"
    r"|(?<!\w)(?:minus|moins|meno|menos|минус)\s$|(?<![\d.,])\d{1,3}[ \xa0\u202f’'](?=$)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"[\s-]{0,2}(?:points?|punkte?n?)(?!\w)", re.IGNORECASE)
_CELL = re.compile(r"(?:^|[|\n\t])\s*\($")


class _Patterns(NamedTuple):
    more_behind: re.Pattern[str]
    more_before: re.Pattern[str]
    range_behind: re.Pattern[str]
    range_before: re.Pattern[str]
    since: re.Pattern[str]


def whole_amount(text: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the place of an amount with the scale word, currency or `%` beside it; None if it is a part of another."""
    known = _patterns()
    read = read_number(text[first:last], ".") or read_number(text[first:last], ",")
    ends_in_digit = text[last - 1].isdigit()
    if read and (ends_in_digit or not read[1]) and (more := known.more_behind.match(text, last)):
        last += len((more["scale"] if read[1] else more[0]).rstrip("."))
        read = read_number(text[first:last], ".") or read_number(text[first:last], ",")
    if read and not read[1] and (more := known.more_before.search(text[max(0, first - _NEAR) : first])):
        first -= len(more[0])
    before, behind = text[max(0, first - _NEAR) : first], text[last : last + _NEAR]
    if _CUT_BEHIND.match(behind) or ((found := _CUT_BEFORE.search(before)) and _is_cut(found[0], text[first:last])):
        return None
    if read and read[1].startswith("%") and _POINTS.match(behind):
        return None
    if (
        before.endswith("(")
        and behind.startswith(")")
        and (_CELL.search(before) or not re.search(r"[^\d.,'’ ]", text[first:last]))
    ):
        return None  # a minus, as accountants write it
    if known.range_behind.match(behind) and not known.since.search(before):
        return None
    other = known.range_before.search(before)
    is_range = (
        other and _is_unit(other["unit"], read[1] if read else "") and not known.since.search(before[: other.start()])
    )
    return None if is_range else (first, last)


def _is_unit(word: str | None, of_amount: str) -> bool:
    """Say whether a word behind a number is a unit, also none: "4 to 5 kg", but not "Quay 4 rose to 5 EUR"."""
    known = listed("units", "scales", "scales beside decimal commas", "currencies before")
    word = (word or "").rstrip(".").casefold()
    return len(word) <= _SHORT_UNIT or word in known or word == of_amount.casefold()


def _is_cut(before: str, amount: str) -> bool:
    """Say whether an amount is cut by what stands before; a number and a space do that before a group of three."""
    return not re.fullmatch(r"\d{1,3}[ \xa0\u202f’']", before) or bool(re.match(r"\d{3}(?!\d)", amount))


@cache
def _patterns() -> _Patterns:
    before = listed("currencies before")
    scales = _any(listed("scales", "scales beside decimal commas"))
    units, money = listed("units"), {word for word, code in meanings("units").items() if code != "%"}
    to = _any(word for word in listed("to") if word.isalpha())
    between, since, joined = _any(listed("between")), _any(listed("since")), _any(listed("and"))
    ahead, number = rf"(?:(?:{_any(money | before)}) ?)?", r"\d[\d.,]*(?:\s?(?P<{}>[^\s\d]{{1,12}}))?"
    return _Patterns(
        re.compile(
            rf"(?P<scale>(?:[\s-]?(?:{scales})\.?|(?<=\d)[kmb](?!\w))*)"
            rf"(?:[^\S\n]?(?:(?:de|di) |d['’])?(?:{_any(units | before)})|(?<=\d)[a-zµ]{{1,3}}(?!\w))?",
            re.IGNORECASE,
        ),
        re.compile(rf"(?<![\d\w])(?<!\d )(?:{_any(money | before)})[^\S\n]?$", re.IGNORECASE),
        re.compile(rf"\.?\s(?:{to})\s{ahead}\d", re.IGNORECASE),
        re.compile(
            rf"{ahead}{number.format('unit')}\s(?:{to})\s$"
            rf"|(?:{between})\s(?:{ahead}{number.format('other')}\s(?:{joined})\s)?$",
            re.IGNORECASE,
        ),
        re.compile(rf"(?:{since})\s{ahead}$", re.IGNORECASE),
    )


def _any(words: Iterable[str]) -> str:
    """Return a pattern of any of some words, which end where they do if they have letters with case."""
    made = sorted(words, key=len, reverse=True)
    return "|".join(
        rf"(?<![^\W\d_]){re.escape(one)}(?!\w)" if one[-1].lower() != one[-1].upper() else re.escape(one)
        for one in made
    )
