"""Amounts of a passage with all that belongs to them, for values of which a model copied a part only.

One grammar reads every amount near a value: sign, currency, number, scale and unit. The value then is the amount that
it stands in, or it is a part of another: of a longer number, of one with a sign, or of a range.
"""

import re
from bisect import bisect_right
from functools import cache, lru_cache
from itertools import pairwise

from lightrag_dagster.stages.facts.dates import leading_precision
from lightrag_dagster.stages.facts.lexicon import END, any_of, listed
from lightrag_dagster.stages.facts.values import CURRENCY_SIGN, FINE, NO_CENTS, currencies, is_currency, scaled_currency

_NEAR = 60
"""Characters before and behind an amount that are looked at."""

_DIGITS = r"(?:(?<![\d.,])\d{1,3}(?:[ \xa0\u202f’']\d{3})+(?!\d)|\d+)(?:[.,]\d+)*(?:e[-+]?\d{1,2}(?!\w))?"
_NUMBER = (
    rf"{_DIGITS}(?:(?:[^\S\n]?[/⁄×x*·^][^\S\n]?|:|[兆億亿万萬]){_DIGITS}|[\s-]\d{{1,2}}[/⁄]\d{{1,2}}(?![\d/])"
    rf"|[^\S\n]?(?:ft|feet|lbs?|h|hours?)\s(?=\d+\s?(?:in|inch\w*|oz|min\w*)(?!\w)){_DIGITS}|[\s-]?[¼-¾⅐-⅞]"
    rf"|['’′][^\S\n]?(?=\d+[^\S\n]?(?:[\"”″]|['’′]{{2}})){_DIGITS})*"  # 5' 3\"
)
_TELEPHONE = (
    r"(?<=\+)(?!\d{1,3}(?:\ \d{3})+(?![\ -]?\d))[1-9]\d{0,2}(?:(?:[\ /-]?\(?\d++\)?){2,}|[\ /-]?\d{6,})"
    r"|0\d{2,}\)?(?:[\ /-]{1,3}\d++)*|0\d(?:[\ .]\d\d){4}(?!\d)|(?<=\()\d{3}\)\ ?\d{3}-\d{4}"
)
_SIGN = (
    r"(?<![\w)])[-–](?=\S)|(?:[≤≥±−▲△]|(?<=[ (|])(?:[<>]=?|\./\.)|マイナス|负|負)[^\S\n]?"
    r"|(?<=ibor|sofr|onia|aron|estr)\s?\+\s?|['’]000\)?[\s|]{1,3}|(?<!\w)(?:minus|moins|meno|menos|минус|negative)\s"
)
_CLOSED = r"[ |]{0,3}\)"  # in reports to the SEC in a cell of its own
_REST_OF_SENTENCE = r"[^.;|\n]*(?:\.\d[^.;|\n]*)*"
_DASH = "[-‐‑–—−~〜～]"
_ALSO_AT = frozenset(("a", "à", "au", "al"))
"""Words for to that say the price of one too: 3 voitures à 40 €."""
_YEAR = re.compile(r"(?:19|20)(?![05]0)\d\d")  # 2000 and 1950 are as often amounts
_UNTIL = frozenset(("until", "till", "hasta", "até", "tot", "до"))
"""Words that stand before a year or day rather than in a range."""
_YEAR_ENDS = re.compile(r"\s?(?:[^\w\s%°]|\Z|年|год|г\.|rok|r\.)")  # and no noun: 900 to 1950 sheep


def whole_amount(text: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the place of an amount with the scale word, currency or `%` beside it; None if it is a part of another.

    A place in doubt stays as it is.
    """
    amounts = _amounts(text)
    at = bisect_right(amounts, first, key=lambda one: one.end("number"))
    inside = [one for one in amounts[at : at + 2] if one.start("number") < last]
    if len(inside) != 1:
        return first, last
    (one,) = inside
    start, end = one.start("core"), one.end("core") - one["core"].endswith(".")
    # It cuts `5` from `2.5` or `€ 5` from `T€ 5`; it leaves out a minus, a bracket or the points of a rate.
    is_cut = (start < first and (one["name"] or first != one.start("number"))) or last < one.end("number")
    is_other = (one.start() < start and one.start() < first) or (one["other"] and last < one.end())
    is_part = is_cut or is_other or one["telephone"]
    is_part = is_part or any(_is_range(text, *pair) for pair in pairwise(amounts[max(0, at - 1) : at + 2]))
    is_part = is_part or any(_shares_scale(text, one, other) for other in amounts[at + 1 : at + 2])
    return None if is_part else (min(first, start), max(last, end))


@lru_cache(maxsize=8)
def _amounts(text: str) -> list[re.Match[str]]:
    return [*_amount().finditer(text)]


def _is_range(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Say whether two amounts are a range, but not a change: "rose from 5 to 7 kg", "grew by 2 to 7 kg"."""
    joined = _joined().fullmatch(text, one.end("number"), other.start("core"))
    if not joined or one["name"]:
        return False
    unit = joined["unit"].strip()
    behind = text[other.end("number") : other.end("number") + _NEAR]
    has_unit = behind.strip().casefold().startswith(unit.casefold())
    shares_sign = not other["ahead"] and _whole(one) <= _whole(other)  # $5 to 7, but not: paid $500 to 3 customers
    is_alike = has_unit and (shares_sign or (one["ahead"] or "") in ("", other["ahead"]))
    if joined["tight"]:  # 5-7 kg
        return has_unit
    if not joined["also"] and _is_time(text, one, other, joined["to"] or ""):
        return False
    if joined["apart"]:
        word = text[max(0, one.start() - _NEAR) : one.start()].split()[-1:]
        is_label = not (word and word[0][0].islower() and _is_small(one))  # Article 5 – 12 EUR
        return is_alike and bool(unit or one["ahead"] or not is_label)
    if joined["also"]:
        return _follows(text, one, "between", rest=rf"\s(?:(?:{any_of(listed('about'))})\s?)?")
    if not is_alike or _follows(text, one, "by"):
        return False
    if not _follows(text, one, "from"):
        has_both = unit or other["ahead"] or is_currency(other["core"].split()[-1])
        return joined["to"].strip() not in _ALSO_AT and not (has_both and _follows(text, one, "changed"))
    are_years = all(re.fullmatch(r"[12]\d{3}", each["number"]) for each in (one, other))
    return not are_years and not _follows(text, one, "changes", end="", rest=_REST_OF_SENTENCE)


def _is_time(text: str, one: re.Match[str], other: re.Match[str], to: str) -> bool:
    """Say whether the second of two amounts is a date, and not the first: $500 until 2024, EUR 20 bis 31.12.2024."""
    is_until = to.strip().casefold() in _UNTIL
    first, last = (leading_precision(text[at : at + _NEAR]) for at in (one.start("core"), other.start("core")))
    is_day = last != "year" and len(one["number"]) <= 2  # 1 to 31 May 2024
    if _YEAR.fullmatch(one["number"]) or (not one["ahead"] and (first or is_day)):
        return False
    is_year = _YEAR.fullmatch(other["core"]) and (
        (is_until and one["ahead"]) or _YEAR_ENDS.match(text, other.end("core"))
    )
    is_range = not is_until and (3, "") < _whole(one) < _whole(other)  # $1,200 to 1,999
    return bool(is_year and not is_range if last == "year" else last)


def _shares_scale(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Say whether the scale word of the next amount may be meant too: 5 to 7 million, but not 500,000 to 1 million."""
    joined = _joined().fullmatch(text, one.end("number"), other.start("core"))
    letter = re.compile(r"[mb]n?(?!\w)").match(text, other.end("number"))
    has_scale = letter or other["scale"].strip(" -").lower() not in ("", "k")
    return bool(joined and not joined["unit"] and (joined["to"] or joined["also"]) and _is_small(one) and has_scale)


def _whole(one: re.Match[str]) -> tuple[int, str]:
    """Return the whole part of a number so that greater ones compare as greater."""
    digits = re.sub(r"\D", "", re.sub(r"[.,]\d{1,2}\Z", "", one["number"]))
    return len(digits), digits


def _is_small(one: re.Match[str]) -> bool:
    return bool(re.fullmatch(r"\d{1,3}(?:[.,]\d{1,2})?", one["number"]))


def _follows(text: str, one: re.Match[str], section: str, **pattern: str) -> bool:
    """Say whether an amount follows a word of a section."""
    return bool(_before(section, **pattern).search(text, max(0, one.start() - _NEAR), one.start()))


@cache
def _before(section: str, end: str = END, rest: str = r"\s?") -> re.Pattern[str]:
    return re.compile(rf"(?:{any_of(listed(section), end)}){rest}\Z", re.IGNORECASE)


@cache
def _amount() -> re.Pattern[str]:
    """Return the pattern of an amount: its `core`, and what stands before it, or behind as `other`, and changes it."""
    scales = any_of(listed("scales", "scales beside decimal commas"))
    things = any_of(listed("whole things"))
    money = any_of(currencies(), r"(?![^\W\d])")
    units = any_of(listed("units") | currencies())
    measures = any_of(listed("measures"), r"(?!\w)")
    points = any_of(listed("points"))
    ahead = any_of(listed("scales beside decimal commas"))  # one million $5 tickets
    pairs = rf"{scaled_currency()}|(?:{ahead})\.?[ ]?(?:{money})"
    return re.compile(
        rf"""(?:
            (?P<cell>(?:^|(?<=[|\n\t])|(?:{money})(?=[^\S\n]?\())[^\S\n\t]*\([ ]?)  # as accountants write a minus
            |(?P<bracket>\([ ]?)
            |{_SIGN}
        )?
        (?P<core>
            (?:(?P<ahead>(?<![\d\w])(?<!\d[ ])(?:{pairs}|{money}|(?-i:[A-Z]{{1,3}})-?{CURRENCY_SIGN}))[^\S\n]?
                |(?P<name>(?<![^\W\d_])[A-Z]{{1,4}}))?
            (?<!\d)(?<!\d[.,])(?P<number>(?(name)\d+(?:[.,]\d+)*|(?:(?P<telephone>{_TELEPHONE})|{_NUMBER})))
            (?:{NO_CENTS})?(?P<scale>(?:
                [\s-]?(?:{scales})\.?
                |(?(ahead)(?:[^\S\n]?(?:mm?|mill)|[kb])(?!\w)|(?:
                    k(?!\w)|[^\S\n]?(?:[kmb]|mill\.?)(?=[^\S\n]?(?:de\ |d['’])?(?:{money}))
                    |[kmb](?=[^\S\n]?(?:{things}))))
            )*)
            (?(ahead)(?:{FINE})?
                |(?:[^\S\n]?(?:{pairs})
                |[^\S\n]?(?:d[ei]\ |d['’])?(?:{units})(?![ ]?\d)(?:{FINE})?
                |(?:{measures})
                |(?<=[kmb])[^\S\n]?(?:{things}))?)
        )
        (?P<other>[-−+](?=[\s|]|\Z)
            |[\s-]{{0,2}}(?:{points})|(?<=%)[\s-]{{0,2}}(?:(?:points?|pts?|punkte?n?)(?!\w)|ポイント))?
        (?(cell){_CLOSED})(?(bracket){_CLOSED}[^\S\n]?(?:{units}|{scales}))
        """,
        re.VERBOSE | re.IGNORECASE,
    )


@cache
def _joined() -> re.Pattern[str]:
    """Return the pattern of what stands between the numbers of two amounts of one range."""
    to = any_of({word for word in listed("to") | _ALSO_AT if word.isalpha()})
    also = any_of(listed("and"))
    return re.compile(
        rf"(?:{NO_CENTS})?(?P<unit>[^\d\n|,;:()\[\]]{{0,24}}?)"
        rf"(?:(?P<to>-?(?:\sup)?\s(?:{to})\s|-(?:{to})-|至|到|\s?(?:…|\.{{3}})\s?)"
        rf"|(?P<apart>[^\S\n]{_DASH}[^\S\n])"
        rf"|(?P<tight>(?<=\S){_DASH}|\s?(?:±|\+/[-−])\s?)|(?P<also>\s(?:{also}|auf|naar|or|oder|bzw\.)\s))",
        re.IGNORECASE,
    )
