"""Numbers with units, and yes or no, in words of ten languages.

A dot or comma that can be read in two ways is settled by these rules, in this order:

- Before `,-` or `.-`, which say that there are no cents, both group.
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
_SUMMED = re.compile(r"(?:\d[\d,.]*[兆億亿万萬])+\d[\d,]*[億亿万萬千]?")  # 3億2000万
_OTHER = re.compile(
    r"(?<![^\W\d_])\d|^(?:st|nd|rd|th)(?!\w)|[⁄¼-¾⅐-⅟]|^[eE]\d|^x[\da-fA-F]|^[⁰¹²³⁴-⁹⁺⁻]|^ ?-(?= |$)|-$"
)
"""Behind a number: what makes it another one."""

_UNSURE = re.compile(r"[<>≤≥±+~≈]|^[?*!…]|[?*!…]$|^[^(]*\)|\([^)]*$")
"""Signs beside a unit which say that the number may not be the amount."""

_MIL = re.compile(r"(?:us)?[$£][\d., ]+mil(?!\w)", re.IGNORECASE)
"""A thousand in Spanish and Portuguese, a million in English."""

_WORD = re.compile(r"[ -]?(百万|千万|[万萬亿億兆千]|[^\W\d_]++(?!\d))\.? ?")
_OF = re.compile(r"^(?:de|di|of) |^d'")
_FIRST = re.compile(r"[^ /(,;]+")
FINE = r"[ ]?(?:/|(?:per|pro|je|par|por|al|a)[ ])[ ]?(?:l|lit\w+|k?wh|kilowatt\w*)(?!['’\w])"
"""Behind a currency: a price with a third decimal, as that of a litre of fuel or a kilowatt hour."""

CURRENCY_SIGN = "[$¢£¥฿\u20a0-\u20c0]"
_SPELLED = re.compile(r"(?!(?:[b-df-hj-np-tv-xz]+|.?var|.mol)\b)[^\W\d_]{4}", re.IGNORECASE)
"""The beginning of a word; what is shorter or has no vowel may be a symbol, of which MW and mW are two."""
_HYPHEN = re.compile(rf"-(?={CURRENCY_SIGN}$)|(?<=^US) (?=\$$)", re.IGNORECASE)
NO_CENTS = r"[.,][-–—]+(?!\d)"
_BY_DECIMAL = {".": {",": True, ".": False}, ",": {",": False, ".": True}}
_EITHER = {",": True, ".": True}


@lru_cache(maxsize=4096)
def read_number(words: str, decimal: str | None = None) -> tuple[float, str] | None:
    """Return the number that words say in digits, and its unit; None if they have another number or say more.

    Signs of currencies become their codes, see `unit_of`. `decimal` is the decimal sign of numbers, if that is known.
    """
    text = _SUMMED.sub(_sum, " ".join(words.translate(_PLAIN).split()) if len(words) <= _LONGEST else "")
    found = _DIGITS.search(text)
    if not found or (decimal != "," and _MIL.match(text)):
        return None
    whole = re.compile(NO_CENTS).match(text, found.end())
    before, after = text[: found.start()], text[(whole or found).end() :]
    said = [word for word in re.split(r"[ ~≈約约]", before) if word.strip(".").casefold() not in listed("about")]
    ahead = " ".join(said).strip(" -+")
    signs = "".join(said).replace(ahead.replace(" ", ""), "", 1)
    in_order = _in_order(ahead)
    scale, of_ahead, money = _scale(in_order)
    scale_behind, of_behind, rest = _scale(_in_order(after), is_money=bool(ahead))
    behind = rest.strip(" -,;:")
    if _OTHER.search(after) or _UNSURE.search(behind) or len(signs) > 1 or (ahead and not is_currency(money)):
        return None
    if of_ahead is not None and (of_behind is not None or (in_order == ahead and of_ahead == _BY_DECIMAL["."])):
        return None  # T€ 5 million; one million $5 tickets
    behind = behind[:-1] if behind.endswith(".") and behind.count(".") == 1 else behind
    unit = " ".join(dict.fromkeys(unit_of(each) for each in (money, behind) if each))
    groups = _EITHER if whole else next(known for known in (of_ahead, of_behind, _grouping(unit)) if known is not None)
    number = _decimal(re.sub("[ ']", "", found[0]), groups, None if whole else decimal)
    if number is None or len(unit) > _LONGEST_UNIT:
        return None
    value = float(number * scale * scale_behind) * (-1 if signs == "-" else 1)
    return (value, unit) if math.isfinite(value) else None


def read_yes_no(words: str) -> bool | None:
    """Return the answer that words are."""
    word = unicodedata.normalize("NFKC", words).strip(" \t\n.,!。！").casefold()
    return True if word in listed("yes") else False if word in listed("no") else None


def unit_of(word: str) -> str:
    """Return a unit with the code of a currency's sign or name, words in small letters and symbols as they are.

    `Days` and `DAYS` are words; `MVAr`, `mmHg` and `EUR/Stück` stay.
    """
    if _SPELLED.match(word) and (word.isupper() or word[1:] == word[1:].lower()):
        word = word.lower()
    plain = _HYPHEN.sub("", word).rstrip("." if is_currency(word) else "")
    first = _FIRST.match(word)
    whole = (meanings("units") | meanings("names of units")).get(plain.casefold())
    if whole or not first or first[0] == word:
        return whole or plain
    return unit_of(first[0]) + word[first.end() :]


@cache
def currencies() -> frozenset[str]:
    """Return the signs, codes and names of currencies that may stand before an amount."""
    return listed("currencies before") | {word for word, code in meanings("units").items() if code != "%"}


@cache
def scaled_currency() -> str:
    """Return the pattern of a currency with a scale behind it, or a letter before it: MEUR, T€, EURm, EUR million."""
    codes = "|".join(sorted(word.upper() for word in currencies() if re.fullmatch("[a-z]{3}", word)))
    sign, scales = f"(?:US)?[€$£¥]|{codes}", any_of(listed("scales", "scales beside decimal commas"))
    return (
        rf"(?<![^\W\d])(?-i:(?:(MM|T-?|[kKMmt])({sign}|kr)|({sign})[ ]?(mn?|bn?|[kM]))(?![^\W\d]))"
        rf"|({any_of(currencies())})(?:[ ]in)?[ ]({scales})"
    )


def _in_order(text: str) -> str:
    """Return a text in which the scale of a currency stands before it, and a letter of its own."""

    def ordered(found: re.Match[str]) -> str:
        letter = (found[1] or found[4] or "")[:1].lower().replace("t", "k")
        return f"{letter or found[6]} {found[2] or found[3] or found[5]}"

    return re.sub(scaled_currency(), ordered, text, count=1, flags=re.IGNORECASE)


def _sum(found: re.Match[str]) -> str:
    """Return the number that several with a scale each are together."""
    each = re.findall(r"([\d,.]+)(\D?)", found[0])
    return str(sum(Decimal(one.replace(",", "")) * Decimal(meanings("scales").get(name, "1")) for one, name in each))


def is_currency(word: str) -> bool:
    """Say whether a word may stand before an amount."""
    plain = _HYPHEN.sub("", word).strip(".").casefold()
    return plain in currencies() or bool(re.fullmatch(rf"[^\W\d_]{{0,3}}{CURRENCY_SIGN}", plain))


def _grouping(unit: str) -> Mapping[str, bool]:
    """Return which sign groups beside a unit, if three digits follow it; one that is left out may or may not."""
    first = _FIRST.match(unit)
    name, rest = (first[0], unit[first.end() :]) if first else ("", "")
    is_money = is_currency(name) or name.casefold() in listed("names of currencies")
    if is_money and not re.match(FINE, rest, re.IGNORECASE):
        return _EITHER if name.casefold() in listed("currencies grouped by dots") else {",": True}
    return _EITHER if name.casefold() in listed("whole things") else {}


def _scale(words: str, *, is_money: bool = False) -> tuple[Decimal, Mapping[str, bool] | None, str]:
    """Return the factor of the scale words at a beginning, which sign groups in their language, and the rest."""
    scale = Decimal(1)
    groups: Mapping[str, bool] | None = None
    while word := _WORD.match(words):
        name, rest = word[1].casefold(), words[word.end() :]
        words_behind = _OF.sub("", rest)
        is_before = is_currency(words_behind.partition(" ")[0])
        letter = "1e6" if name == "mm" and is_money else meanings("scales of letters").get(name)
        if letter and (is_money or is_before or (rest and name == "k")):
            factor, groups = letter, {} if is_before else _BY_DECIMAL["."]
        elif letter and (rest[:1].isalpha() or (word[1] in ("k", "M") and not rest)):
            factor = "NaN"  # 5m users are millions, 5 m high is a length; 12k alone are thousands
        elif word[1] in ("Billion", "Trillion") and not is_money:
            factor = "NaN"  # in German a Billion is a thousand times as much
        elif name in meanings("scales beside decimal commas"):
            factor, groups = meanings("scales beside decimal commas")[name], _BY_DECIMAL[","]
        elif name in meanings("scales"):
            factor, groups = meanings("scales")[name], _BY_DECIMAL["."]
        else:
            break
        if words_behind != rest and not rest.startswith("of"):
            groups = _BY_DECIMAL[","]
        scale, words = scale * Decimal(factor), words_behind
    return scale, groups, words


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
