"""Numbers with units, and yes or no, in words of ten languages.

A dot or comma that can be read in two ways is settled by these rules, in this order:

- The last one is decimal if both are there, or if no group of exactly three digits follows it.
- Beside a scale word of a language with decimal commas (`Mio.`, `milliards`) a comma is decimal, and a dot groups.
- A comma before three digits groups: `1,234`.
- A dot before three digits groups beside a currency that is written so (`1.234 €`). It is decimal otherwise (`1.234`,
  `1.234 km`); but texts that may well mean a thousand times as much are unread: `50.000`, `1.234 Einwohner`.
"""

import math
import re
import unicodedata
from decimal import Decimal
from functools import lru_cache

from lightrag_dagster.stages.facts.lexicon import listed, meanings

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
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_FIRST = re.compile(r"[^ /(,;]+")
_MINUS_BEHIND = re.compile(r"^ ?-(?= |$)|-$")
_SIGN = re.compile(r"([^\W\d_]{0,3})([- ]?)(\W)")  # of a currency
_UNSURE = re.compile(r"[<>≤≥±+~≈]|^[?*!…]|[?*!…]$|^[^(]*\)|\([^)]*$")
"""Signs beside a unit which say that the number may not be the amount."""


@lru_cache(maxsize=4096)
def read_number(words: str) -> tuple[float, str] | None:
    """Return the number that words say in digits, and its unit; None if they have another number or say more.

    Signs of currencies become their codes; other units stay as they are written.
    """
    text = " ".join(words.translate(_PLAIN).split()) if len(words) <= _LONGEST else ""
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
    scale, by_comma, rest = _scale(after, is_money=bool(ahead))
    behind = rest.strip(" -,;:")
    if _UNSURE.search(behind):
        return None
    behind = behind[:-1] if behind.endswith(".") and behind.count(".") == 1 else behind
    unit = " ".join(dict.fromkeys(unit_of(each) for each in (ahead, behind) if each))
    is_grouped = (currency := _FIRST.match(unit)) and currency[0].casefold() in listed("currencies grouped by dots")
    by_dot = by_comma or (scale == 1 and bool(is_grouped))
    number = _decimal(re.sub("[ ']", "", found[0]), behind if scale == 1 else "", by_comma=by_comma, by_dot=by_dot)
    if number is None or len(unit) > _LONGEST_UNIT:
        return None
    value = float(number * scale) * (-1 if signs == "-" else 1)
    return (value, unit) if math.isfinite(value) else None


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


def _scale(after: str, *, is_money: bool) -> tuple[Decimal, bool, str]:
    """Return the factor of the words after a number, whether their language has decimal commas, and the rest."""
    scale, by_comma = Decimal(1), False
    while word := _WORD.match(after):
        name, rest = word[1].casefold(), after[word.end() :]
        letter = meanings("scales of letters").get(name)
        if letter and (is_money or (rest and (name == "k" or _is_currency(rest.split()[0])))):
            factor = letter
        elif letter and (rest[:1].isalpha() or (word[1] == "k" and not rest)):
            factor = "NaN"  # 5m users are millions, 5 m high is a length; 12k alone are thousands
        elif name in meanings("scales beside decimal commas"):
            factor, by_comma = meanings("scales beside decimal commas")[name], True
        elif name in meanings("scales"):
            factor = meanings("scales")[name]
        else:
            break
        scale, after = scale * Decimal(factor), _OF.sub("", rest)
    return scale, by_comma, after


def _decimal(digits: str, behind: str, *, by_comma: bool, by_dot: bool) -> Decimal | None:
    """Return the number that digits with dots and commas are; None if they are none, or may be another one.

    `by_comma`: a comma before three digits is decimal; `by_dot`: a dot there groups. `behind` is what follows.
    """
    plain, exponent, power = digits.casefold().partition("e")
    head, last, tail = plain.rpartition(max(".,", key=plain.rfind))
    if not last or plain.count(last) > 1:
        is_number = not last or _GROUPED.fullmatch(plain)
        return Decimal(re.sub("[.,]", "", plain) + exponent + power) if is_number else None
    if "," in head or "." in head:
        if not _GROUPED.fullmatch(head):
            return None
    elif _GROUPED.fullmatch(plain) and not plain.startswith("0"):
        if not by_comma if last == "," else by_dot:
            return Decimal(head + tail + exponent + power)
        word = _LONG_WORD.match(behind)
        is_counted = word and not any(part in word[0].casefold() for part in listed("measures"))
        if last == "." and (is_counted or tail == "000"):
            return None
    return Decimal(re.sub("[.,]", "", head) + "." + tail + exponent + power)
