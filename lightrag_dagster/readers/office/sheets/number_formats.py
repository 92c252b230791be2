"""Number formats of spreadsheets: a number as its cell shows it, since a percentage or leading zeros say what it is."""

import re
from collections.abc import Callable
from functools import lru_cache
from math import floor, log10

from lightrag_dagster.readers.office.sheets.dates import date_format
from lightrag_dagster.readers.office.sheets.format_codes import Section, sections_of

_DATE, _TIME = "yyyy-mm-dd", "h:mm:ss"
_BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    48: "##0.0E+0",
    14: _DATE,
    15: _DATE,
    16: _DATE,
    17: "mmm yyyy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: _TIME,
    22: "yyyy-mm-dd h:mm",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    **dict.fromkeys((5, 6, 37, 38), "#,##0;(#,##0)"),
    **dict.fromkeys((7, 8, 39, 40), "#,##0.00;(#,##0.00)"),
    41: '#,##0;-#,##0;"-"',
    42: '#,##0;-#,##0;"-"',
    43: '#,##0.00;-#,##0.00;"-"',
    44: '#,##0.00;-#,##0.00;"-"',
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), _DATE),
    **dict.fromkeys((32, 33, 34, 35, 55, 56), _TIME),
}
"""Formats that a workbook names by number alone; their currencies are those of the reader's country."""

# Spreadsheets have 15 digits: what a binary fraction lacks must not turn a half down.
_SPACES, _ANY_DIGIT = re.compile(r"\s+"), re.compile(r"[1-9]")
_UP, _EXACT = 1 + 1e-15, 1e12

_TESTS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "=": lambda value, limit: value == limit,
    "<>": lambda value, limit: value != limit,
}


def general(value: float) -> str:
    """Return a number without a format, with the 15 digits that spreadsheets have, of which cells show fewer."""
    return f"{value + 0:.0f}" if abs(value) < 1e15 and value.is_integer() else f"{value:.15G}"  # not -0


@lru_cache(maxsize=64)  # most workbooks have the same few
def number_format(code: str | None, number: int, *, since_1904: bool) -> Callable[[float], str] | None:
    """Return the function that writes a number by a format's code, or else by its number; None for a plain number."""
    sections = sections_of(_BUILT_IN.get(number, "") if code is None else code)
    kinds = {token.kind for token in sections[0]}
    if kinds & {"date", "elapsed"} and "digit" not in kinds:
        write = lru_cache(2_000)(date_format(sections[0], since_1904=since_1904))
        return lambda value: write(value) or general(value)
    tokens = [token for section in sections for token in section]
    if any(token.kind == "digit" or (token.kind == "text" and token.value.strip()) for token in tokens):
        return _Numbers(sections).shown
    return None


class _Numbers:
    """A format of numbers, by its sections."""

    def __init__(self, sections: list[Section]) -> None:
        self._write = [_Section(section).write for section in sections]
        self._conditions = [[one.value for one in section if one.kind == "condition"] for section in sections]
        self._has_conditions = any(self._conditions)

    def shown(self, value: float) -> str:
        """Return a number as it is shown, but not as a fraction such as `1 1/2`, and not hidden."""
        place, signed = self._place(value) if value <= 0 or self._has_conditions else (0, False)
        text = self._write[place](abs(value))
        return f"-{text}" if signed and _ANY_DIGIT.search(text) else text or general(value)

    def _place(self, value: float) -> tuple[int, bool]:
        """Return the place of the section for a number, and True if a minus is to be added."""
        if self._has_conditions:
            for place, condition in enumerate(self._conditions):
                if all(_TESTS[one.rstrip("-0123456789. ")](value, float(one.lstrip("<>= "))) for one in condition):
                    return place, value < 0
            return 0, value < 0
        if value < 0:
            return (1, False) if len(self._write) > 1 else (0, True)
        return (2, False) if value == 0 and len(self._write) > 2 else (0, False)


class _Section:
    """The format of numbers of one kind, such as the negative ones."""

    def __init__(self, section: Section) -> None:
        # An exponent's digits are no digits of the number.
        end = next((place for place, token in enumerate(section) if token.value.upper() in ("E+", "E-")), None)
        self._scientific = end is not None
        section = section[:end]
        self._tokens = section
        digits = [place for place, token in enumerate(section) if token.kind == "digit"]
        point = next((place for place, token in enumerate(section) if token == ("mark", ".")), len(section))
        commas = [place for place, token in enumerate(section) if token == ("mark", ",")]
        self._whole = [place for place in digits if place < point]
        behind = [section[place].value for place in digits if place > point]
        self._decimals = len(behind)
        has_point = digits and not behind and section[digits[-1] + 1 : digits[-1] + 2] == [("mark", ".")]
        self._optional = len(behind) - len("".join(behind).rstrip("#?"))
        self._least = max(
            (len(self._whole) - n for n, at in enumerate(self._whole) if section[at].value == "0"), default=0
        )
        thousands = sum(1 for place in commas if digits and place > digits[-1])
        self._grouped = "," if len(commas) > thousands else ""
        power = 2 * sum(1 for token in section if token == ("mark", "%")) - 3 * thousands
        self._factor = 10.0**power
        self._is_fraction = ("text", "/") in section and ("digit", "?") in section
        slots = digits or [place for place, token in enumerate(section) if token.kind == "general"]
        first, last = (slots[0], slots[-1]) if slots else (len(section), len(section))
        self._before = _texts(section[:first]).lstrip()
        self._after = _texts(section[last + 1 :]).rstrip()
        self._after = f".{self._after}" if has_point else self._after
        self._is_split = any(token.kind == "text" for token in section[first:last])
        self._has_digits, self._is_general = bool(digits), bool(slots and not digits)
        self._is_usual = self._least == 1 and not (self._optional or self._is_split or self._scientific)
        before, after = (text.replace("{", "{{").replace("}", "}}") for text in (self._before, self._after))
        self._usual = f"{before}{{:{self._grouped}.{self._decimals}f}}{after}".format

    def write(self, value: float) -> str:
        """Return a positive number or 0; "" for a fraction, which has no form on one line."""
        if self._is_fraction:
            return ""
        if self._is_general:
            return f"{self._before}{general(value)}{self._after}"
        if not self._has_digits:
            return f"{self._before}{self._after}"
        value *= self._factor * (1 if value > _EXACT else _UP)
        return self._usual(value) if self._is_usual else f"{self._before}{self._number(value)}{self._after}"

    def _number(self, value: float) -> str:
        if self._scientific:
            power = floor(log10(value)) if value else 0
            step = max(1, len(self._whole))
            power -= power % step  # by thousands if three digits may be before the point
            return (
                f"{value / 10.0**power:.{self._decimals}f}E{power:+03}" if step > 1 else f"{value:.{self._decimals}E}"
            )
        text = f"{value:{self._grouped}.{self._decimals}f}"
        whole, point, part = text.partition(".")
        if len(whole) != self._least:
            whole = ("" if whole == "0" else whole).zfill(self._least)
        if self._optional and part:
            kept = len(part) - self._optional
            part = part[:kept] + part[kept:].rstrip("0")
        if self._is_split:
            whole = self._among_texts(whole)
        return f"{whole}{point}{part}" if part else whole

    def _among_texts(self, whole: str) -> str:
        """Return the digits before the point among the texts between them, as of `000-00-0000`."""
        first, last = self._whole[0], self._whole[-1]
        left, written = list(whole), list[str]()
        for token in reversed(self._tokens[first + 1 : last + 1]):
            written.append(
                token.value if token.kind == "text" else left.pop() if left and token.kind == "digit" else ""
            )
        return "".join(left) + "".join(reversed(written))


def _texts(section: Section) -> str:
    text = "".join(token.value for token in section if token.kind == "text" or token.value == "%")
    return _SPACES.sub(" ", text)
