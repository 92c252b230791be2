"""Numbers with units, and yes or no, in words of ten languages.

A dot or comma that can be read in two ways is settled by these rules, in this order:

- By `decimal`, where it is given: a number of another form is none.
- The last one is decimal if both are there, or if no group of exactly three digits follows it.
- Beside a scale word of a language with decimal commas (`Mio.`, `milliards`, `millions de`) a comma is decimal, and a
  dot groups; beside another (`million`) a dot is decimal, and a comma groups.
- Before three digits a comma groups beside a currency, and a dot beside one that is written so (`1.234 €`); both do
  beside whole things (`1.234 Einwohner`, `1,234 employees`).
- Others may be a thousand times as much, and are unread: `1.234`, `2,500 m²`, `1.659 EUR/l`.
"""

import math
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from functools import cache, lru_cache

from lightrag_dagster.stages.facts.lexicon import any_of, listed, meanings

_LONGEST = 100
"""Characters of a text that may be a value."""

_LONGEST_UNIT = 40

_WIDE = {0xFF01 + at: 0x21 + at for at in range(94)} | {0xFFE1: "£", 0xFFE5: "¥", 0xFFE6: "₩"}
_PLAIN = _WIDE | dict.fromkeys(map(ord, "‐‑–—−"), "-") | dict.fromkeys(map(ord, "‘’"), "'")
_DIGITS = re.compile(r"(?:\d{1,3}(?:[ ']\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)(?:[eE][-+]?\d{1,2}(?!\w))?")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*|\d{1,2}(?:,\d{2})+,\d{3}")  # the second as in India
_NOT_ALONE = re.compile(r"(?<![^\W\d_])\d|^(?:st|nd|rd|th)(?!\w)")
_WORD = re.compile(r"[ -]?(百万|千万|[万萬亿億兆千]|[^\W\d_]++(?!\d))\.? ?")
_OF = re.compile(r"^(?:de|di|of) |^d'")
_FIRST = re.compile(r"[^ /(,;]+")
FINE = re.compile(r" ?(?:/|(?:per|pro|je|par|por|al|a) ) ?(?:l|lit\w+|k?wh|kilowatt\w*)(?!['’\w])", re.IGNORECASE)
"""Behind a currency: a price with a third decimal, as that of a litre of fuel or a kilowatt hour."""
_LETTERS = {"K": "k", "T": "Tsd", "T-": "Tsd", "t": "Tsd", "m": "M", "mn": "M", "MM": "M", "b": "bn"}
_SUMMED = re.compile(r"(?:\d[\d,.]*[兆億亿万萬])+\d[\d,]*[億亿万萬千]?")  # 3億2000万
_MINUS_BEHIND = re.compile(r"^ ?-(?= |$)|-$")
_BY_DECIMAL = {".": {",": True, ".": False}, ",": {",": False, ".": True}}
_EITHER = {",": True, ".": True}
_SIGN = re.compile(r"([^\W\d_]{0,3})([- ]?)(\W)")  # of a currency
_UNSURE = re.compile(r"[<>≤≥±+~≈]|^[?*!…]|[?*!…]$|^[^(]*\)|\([^)]*$")
"""Signs beside a unit which say that the number may not be the amount."""


@lru_cache(maxsize=4096)
def read_number(words: str, decimal: str | None = None) -> tuple[float, str] | None:
    """Return the number that words say in digits, and its unit; None if they have another number or say more.

    Signs of currencies become their codes; other units stay as they are written. `decimal` is the decimal sign of
    numbers, if that is known.
    """
    text = " ".join(words.translate(_PLAIN).split()) if len(words) <= _LONGEST else ""
    text, is_in_doubt = _scale_behind(_SUMMED.sub(_sum, text))
    found = _DIGITS.search(text)
    if not found:
        return None
    before, after = text[: found.start()], re.sub("^[.,]-+", "", text[found.end() :])
    if _NOT_ALONE.search(after) or _MINUS_BEHIND.search(after) or "⁄" in unicodedata.normalize("NFKC", after):
        return None
    said = [word for word in re.split(r"[ ~≈約约]", before) if word.strip(".").casefold() not in listed("about")]
    ahead = " ".join(said).strip(" -+")
    signs = "".join(said).replace(ahead.replace(" ", ""), "", 1)
    if (ahead and not _is_currency(ahead)) or len(signs) > 1:
        return None
    scale, of_scale, rest = _scale(after, is_money=bool(ahead))
    behind = rest.strip(" -,;:")
    if _UNSURE.search(behind):
        return None
    behind = behind[:-1] if behind.endswith(".") and behind.count(".") == 1 else behind
    unit = " ".join(dict.fromkeys(unit_of(each) for each in (ahead, behind) if each))
    groups = {} if is_in_doubt else of_scale if scale != 1 else _grouping(unit)
    number = _decimal(re.sub("[ ']", "", found[0]), groups, decimal)
    if number is None or len(unit) > _LONGEST_UNIT:
        return None
    value = float(number * scale) * (-1 if signs == "-" else 1)
    return (value, unit) if math.isfinite(value) else None


@cache
def in_scales() -> re.Pattern[str]:
    """Return the pattern of a currency with a scale, as reports write it: MEUR, T€, EURm, Mio. €, EUR million."""
    known = {word for word, code in meanings("units").items() if code != "%"} | listed("currencies before")
    codes = "|".join(sorted(word.upper() for word in known if re.fullmatch("[a-z]{3}", word)))
    money, ahead = any_of(known), any_of(listed("scales beside decimal commas"))  # one million $5 tickets
    scales = any_of(listed("scales", "scales beside decimal commas"))
    sign = f"(?:US)?[€$£¥]|{codes}"
    return re.compile(
        rf"(?<![^\W\d])(?-i:(?P<scale1>MM|T-?|[kKM])(?P<money1>{sign})(?!\w)|(?P<scale2>[MmTt])(?P<money2>kr)(?!\w)"
        rf"|(?P<money3>{sign})(?P<scale3>mn?|bn?|[kM])(?!\w))"
        rf"|(?P<scale4>{ahead})\.? ?(?P<money4>{money})|(?P<money5>{money})(?: | in )(?P<scale5>{scales})",
        re.IGNORECASE,
    )


def _scale_behind(text: str) -> tuple[str, bool]:
    """Return a text with the scale and currency of such a pair behind its number, and whether the scale is a letter."""
    if not (found := in_scales().search(text)):
        return text, False
    scale, money = ("".join(found[f"{name}{at}"] or "" for at in range(1, 6)) for name in ("scale", "money"))
    ahead, behind = text[: found.start()].rstrip(), text[found.end() :]
    number = re.match(r" ?-?\d(?:[\d.,' ]*\d)?", behind)
    at, is_letter = number.end() if number else 0, not (found["scale4"] or found["scale5"])
    return f"{ahead}{behind[:at]} {_LETTERS.get(scale, scale) if is_letter else scale} {money}{behind[at:]}", is_letter


def _sum(found: re.Match[str]) -> str:
    """Return the number that several with a scale each are together."""
    each = re.findall(r"([\d,.]+)(\D?)", found[0])
    return str(sum(Decimal(one.replace(",", "")) * Decimal(meanings("scales").get(name, "1")) for one, name in each))


def read_yes_no(words: str) -> bool | None:
    """Return the answer that words are."""
    word = unicodedata.normalize("NFKC", words).strip(" \t\n.,!。！").casefold()
    return True if word in listed("yes") else False if word in listed("no") else None


def unit_of(word: str) -> str:
    """Return a unit with the code of a currency's sign or name, and other units as they are written."""
    whole, first = meanings("units").get(_plain(word).casefold()), _FIRST.match(word)
    if whole or not first or first[0] == word:
        return whole or _plain(word)
    return unit_of(first[0]) + word[first.end() :]


def _is_currency(word: str) -> bool:
    """Say whether a word may stand before an amount."""
    sign = _currency_sign(word)
    is_sign = sign and sign[2] != " "
    is_known = meanings("units").get(_plain(word).casefold(), "%") != "%"
    return bool(is_sign) or is_known or word.strip(".").casefold() in listed("currencies before")


def _plain(word: str) -> str:
    """Return US-$ and US $ as US$, and other words as they are."""
    sign = _currency_sign(word)
    return sign[1] + sign[3] if sign else word


def _currency_sign(word: str) -> re.Match[str] | None:
    found = _SIGN.fullmatch(word)
    return found if found and unicodedata.category(found[3]) == "Sc" else None


def _grouping(unit: str) -> Mapping[str, bool]:
    """Return which sign groups beside a unit, if three digits follow it; one that is left out may or may not."""
    first = _FIRST.match(unit)
    name = first[0].casefold() if first else ""
    if (
        first
        and (_is_currency(first[0]) or name in listed("names of currencies"))
        and not FINE.match(unit, first.end())
    ):
        return _EITHER if name in listed("currencies grouped by dots") else {",": True}
    return _EITHER if name in listed("whole things") else {}


def _scale(after: str, *, is_money: bool) -> tuple[Decimal, Mapping[str, bool], str]:
    """Return the factor of the words after a number, which sign groups in their language, and the rest."""
    scale, groups = Decimal(1), _BY_DECIMAL["."]
    while word := _WORD.match(after):
        name, rest = word[1].casefold(), after[word.end() :]
        letter = "1e6" if name == "mm" and is_money else meanings("scales of letters").get(name)
        if letter and (is_money or (rest and (name == "k" or _is_currency(_OF.sub("", rest).partition(" ")[0])))):
            factor = letter
        elif letter and (rest[:1].isalpha() or (word[1] in ("k", "M") and not rest)):
            factor = "NaN"  # 5m users are millions, 5 m high is a length; 12k alone are thousands
        elif word[1] in ("Billion", "Trillion") and not is_money:
            factor = "NaN"  # in German a Billion is a thousand times as much
        elif name in meanings("scales beside decimal commas"):
            factor, groups = meanings("scales beside decimal commas")[name], _BY_DECIMAL[","]
        elif name in meanings("scales"):
            factor = meanings("scales")[name]
        else:
            break
        scale, after = scale * Decimal(factor), _OF.sub("", rest)
        groups = groups if after == rest or rest.startswith("of") else _BY_DECIMAL[","]
    return scale, groups, after


def _decimal(digits: str, groups: Mapping[str, bool], decimal: str | None) -> Decimal | None:
    """Return the number that digits with dots and commas are; None if they are none, or may be another one.

    `groups` says whether a sign before three digits groups, `decimal` which sign never does.
    """
    plain, exponent, power = digits.casefold().partition("e")
    head, last, tail = plain.rpartition(decimal or max(".,", key=plain.rfind))
    if not last or plain.count(last) > 1:
        is_number = plain.isdigit() or _GROUPED.fullmatch(plain)
        return Decimal(re.sub("[.,]", "", plain) + exponent + power) if is_number and not (last and decimal) else None
    if "," in head or "." in head:
        if not _GROUPED.fullmatch(head):
            return None
    elif _GROUPED.fullmatch(plain) and not (decimal or exponent or plain.startswith("0")):
        if last not in groups:
            return None
        if groups[last]:
            return Decimal(head + tail + exponent + power)
    return Decimal(re.sub("[.,]", "", head) + "." + tail + exponent + power) if tail.isdigit() else None
