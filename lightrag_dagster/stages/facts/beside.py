"""Words and signs beside a number in a passage that belong to it, and that a model may have left out."""

import re
from functools import cache

from lightrag_dagster.stages.facts.lexicon import END, any_of, listed, meanings
from lightrag_dagster.stages.facts.values import FINE, in_scales, read_number

_NEAR = 60
"""Characters before and behind a number that are looked at."""

_ALSO_AT = frozenset(("a", "à", "au", "al"))
"""Words for to that say the price of one too: 3 voitures à 40 €."""

_SIGNS = "€$£¥₹₽₩₺₴₪฿₫₦"
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff"
_DASH = "[-‐‑–—−~〜～]"
_CUT_BEHIND = re.compile(
    rf"{_DASH}[{_SIGNS}]?\d|[-−+](?=[\s|]|\Z)|(?<=\d)[^\S\n]?[/⁄×x*·^][^\S\n]?\d|[\s-]?[¼-¾⅐-⅞]|\d|(?<=\d):\d"
    r"|[ \xa0\u202f’']\d{3}(?!\d)|[\s-]\d{1,2}[/⁄]\d{1,2}(?![\d/])",
    re.IGNORECASE,
)
_CUT_BEFORE = re.compile(
    rf"(?<![^\W\d_{_EAST_ASIAN}])\d[\d.,]*\s?(?:[^\W\d_]{{1,3}}|[{_SIGNS}%])?{_DASH}\Z"
    r"|\d[^\S\n]?[/⁄×*·^][^\S\n]?\Z|(?:[≤≥±−▲△]|(?<=[ (|])(?:[<>]=?|\./\.))[^\S\n]?\Z"
    r"|(?<![\w)])[-–]\Z|[兆億亿万萬]\Z|(?<!\w)\d{1,3}:\Z"
    r"|(?:(?<!\w)(?:minus|moins|meno|menos|минус|negative)\s|(?:マイナス|负|負)\s?)\Z"
    r"|(?<![\d.,])\d{1,3}[ \xa0\u202f’']\Z",
    re.IGNORECASE,
)
_POINTS = re.compile(r"[\s-]{0,2}(?:(?:points?|pts?|punkte?n?)(?!\w)|ポイント)", re.IGNORECASE)
_CELL = re.compile(r"(?:^|[|\n\t])\s*\( ?\Z")
_CLOSED = r"[ |]{0,3}\)"  # in reports to the SEC in a cell of its own


def whole_amount(text: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the place of an amount with the scale word, currency or `%` beside it; None if it is a part of another.

    A place in doubt stays as it is.
    """
    known = _patterns()
    unit, ends_in_digit = _unit(text[first:last]), text[last - 1].isdigit()
    if unit == "" and (more := known["more before"].search(text[max(0, first - _NEAR) : first])):
        first -= len(more[0])
        unit = _unit(text[first:last])
    if unit is not None:
        more = known["more behind" if not unit else "more of money" if ends_in_digit else "more of unit"].match(
            text, last
        )
        last += len(more[0].rstrip(".")) if more else 0
    if fine := FINE.match(text, last) if _unit(text[first:last]) else None:
        last = fine.end()
    before, behind = text[max(0, first - _NEAR) : first], text[last : last + _NEAR]
    found = _CUT_BEFORE.search(before)
    if unit and not text[first].isdigit():
        found = found or known["scale before"].search(before)
    if _CUT_BEHIND.match(text, last) or (found and _is_cut(found[0], text[first:last])):
        return None
    if text[last - 1].isdigit() and (known["points"].match(behind) or _shares_scale(text[first:last], behind)):
        return None
    if (_unit(text[first:last]) or "").startswith("%") and _POINTS.match(behind):
        return None
    is_part = _is_minus(before, text[first:last], behind) or _is_in_range(text, first, last)
    return None if is_part else (first, last)


def _shares_scale(amount: str, behind: str) -> bool:
    """Say whether the scale word of the next amount may be meant too: 5 to 7 million, but not 500,000 to 1 million."""
    return bool(re.fullmatch(r"\D*\d{1,3}(?:[.,]\d{1,2})?", amount) and _patterns()["scale shared"].match(behind))


def _unit(amount: str) -> str | None:
    read = read_number(amount, ".") or read_number(amount, ",")
    return read and read[1]


def _is_minus(before: str, amount: str, behind: str) -> bool:
    """Say whether an amount is in brackets, as accountants write a minus: in a cell, or beside a currency or `%`."""
    if not (re.search(r"\( ?\Z", before) and re.match(_CLOSED, behind)):
        return False
    known, is_plain = _patterns(), not re.search(r"[^\d.,'’ ]", amount)
    is_beside = (is_plain and known["minus before"].search(before)) or known["minus behind"].match(behind)
    return bool(_CELL.search(before) or is_beside)


def _is_in_range(text: str, first: int, last: int) -> bool:
    """Say whether an amount is an end of a range, but not of a change: "rose from 5 to 7 kg", "grew by 2 to 7 kg"."""
    begin = max(0, first - _NEAR)
    return any(
        found.start() < last - begin
        and first - begin < found.end()
        and _is_range(found, text[max(0, begin + found.start() - _NEAR) : begin + found.start()])
        for found in _patterns()["ranges"].finditer(text[begin : last + _NEAR])
    )


def _is_range(found: re.Match[str], before: str) -> bool:
    """Say whether two amounts are a range, by the words between and before them."""
    known = _patterns()
    comes_from = known["from"].search(before)
    is_change = known["changes"].search(before) if comes_from else found.lastgroup and known["changed"].search(before)
    if comes_from and re.fullmatch(
        r"[12]\d{3}\D+[12]\d{3}\D*", found[0]
    ):  # years, each of which is an amount of its own
        return False
    return not (is_change or known["by"].search(before)) and bool(comes_from or not known["also at"].search(found[0]))


def _is_cut(before: str, amount: str) -> bool:
    """Say whether an amount is cut by what stands before; a number and a space do that before a group of three."""
    return not re.fullmatch(r"\d{1,3}[ \xa0\u202f’']", before) or bool(re.match(r"\d{3}(?!\d)", amount))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    scales = any_of(listed("scales", "scales beside decimal commas"))
    codes = {word for word, code in meanings("units").items() if code != "%"} | listed("currencies before")
    units, money, measures = any_of(listed("units") | codes), any_of(codes), any_of(listed("measures"), r"(?!\w)")
    to, at_once = any_of(word for word in listed("to") | _ALSO_AT if word.isalpha()), "(?:至|到)"
    between, joined, things = any_of(listed("between")), any_of(listed("and")), any_of(listed("whole things"))
    number, ahead, named = (
        r"\d[\d.,]*",
        rf"(?:(?:{money}) ?)?",
        r"[^\S\n]?(?P<unit>[^\s\d|,;:.()-][^\s\d|,;]{0,11}(?: [^\s\d|]{1,12})?)",
    )
    apart = rf"(?:\s(?:{to})\s|[^\S\n]{_DASH}[^\S\n]|{_DASH}|{at_once})"
    texts = {
        "more before": rf"(?<![\d\w])(?<!\d )(?:{in_scales().pattern}|{money})[^\S\n]?\Z",
        "more behind": rf"(?<=\d)[kmb][^\S\n]?(?:{things})|[^\S\n]?(?:{in_scales().pattern})"
        rf"|(?:[\s-]?(?:{scales})\.?|(?<=\d)k(?!\w)|(?<=\d)[^\S\n]?[kmb](?=[^\S\n]?(?:de |d['’])?(?:{money})))*"
        rf"(?:(?:(?<=mio|mrd|tsd|mln)\.)?[^\S\n]?(?:(?:de|di) |d['’])?(?:{units})"
        rf"|(?<=\d)(?:{measures}))?",
        "more of money": rf"(?:[\s-]?(?:{scales})\.?|(?<=\d)(?:[^\S\n]?mm?|[kb])(?!\w))*",
        "more of unit": rf"(?: ?(?:{scales})|[km](?!\w))?",
        "scale before": rf"(?<![\d.,]\s)(?<![\d.,])(?:{any_of(listed('scales beside decimal commas'))})\.?[^\S\n]?\Z"
        r"|(?<!\w)[kKTM]\Z",
        "ranges": rf"(?P<sign>{money})[^\S\n]?{number}[^\d\n]{{0,12}}?{apart}(?P=sign)[^\S\n]?{number}"
        rf"|{number}{named}{apart}{ahead}{number}[^\S\n]?(?P=unit)(?!\w)"
        rf"|(?<![^\W{_EAST_ASIAN}])(?<![.,{_SIGNS}]){number}(?:-?\s(?:{to})\s|[万萬亿億]?{at_once}){ahead}{number}"
        rf"|(?:{between})\s{ahead}{number}(?:\s?[^\s\d]{{1,12}})?\s(?:{joined})\s{ahead}{number}",
        "also at": rf"\s(?:{any_of(_ALSO_AT)})\s",
        "points": rf"[\s-]{{0,2}}(?:{any_of(listed('points'))})",
        "scale shared": rf"\s(?:{to}|{joined}|auf|naar|or|oder|bzw\.)\s{ahead}{number}[\s-]?(?:{scales}|[mb]n?{END})",
        "by": rf"(?:{any_of(listed('by'))})\s{ahead}\Z",
        "from": rf"(?:{any_of(listed('from'))})\s?{ahead}\Z",
        "changes": rf"(?:{any_of(listed('changes'), '')})[^.;|\n]*(?:\.\d[^.;|\n]*)*\Z",
        "changed": rf"(?:{any_of(listed('changed'))})\s\Z",
        "minus before": rf"(?:{money})[^\S\n]?\( ?\Z",
        "minus behind": rf"{_CLOSED}[^\S\n]?(?:{units}|{scales})",
    }
    return {name: re.compile(text, re.IGNORECASE) for name, text in texts.items()}
