"""Dates and times of spreadsheets, which are numbers of days."""

from collections.abc import Callable
from datetime import date, timedelta

from lightrag_dagster.readers.office.sheets.format_codes import CodeToken, Section

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NO_DATE = 3_653  # days; dates of the first ten years since 1900 are lengths of time
_LAST_DAY, _DAY = 2_958_465, 86_400  # 31 December 9999; seconds


def date_format(section: Section, *, since_1904: bool) -> Callable[[float], str]:
    """Return the function that writes a number of days; "" for a number that is not a date.

    A date with a day is written as ISO 8601 has it, since `03/04` is read in two ways; months, times and lengths of
    time are written as the format has them, years with four digits.
    """
    tokens = _with_minutes(section)
    units = {token.value[0].lower() for token in tokens if token.kind == "date"}
    digits = max((token.value.count("0") for token in tokens if token.kind == "date"), default=0)
    elapsed = any(token.kind == "elapsed" for token in tokens)
    half = any(token.kind == "half" for token in tokens)
    is_length = not units & {"m", "y"} and any(token.value.isalpha() for token in tokens if token.kind == "text")
    clock = "".join(f":{unit}" for unit in ("hh", "nn", "ss") if unit[0] in units)[1:]

    def shown(value: float) -> str:
        seconds = round(value * _DAY, digits)
        if elapsed:
            sign = "-" if seconds < 0 else ""
            return sign + "".join(_elapsed(token, abs(seconds)) for token in tokens).strip()
        days, seconds = divmod(seconds, _DAY)
        if not 0 <= days <= _LAST_DAY or (days == 0 and not clock):
            return ""
        day = _day(int(days), since_1904=since_1904)
        if "d" not in units:
            return "".join(_part(token, day, seconds, half=half) for token in tokens).strip()
        if is_length and days < _NO_DATE:
            return "".join(
                str(int(days)) if one[0] == "date" and one.value in "dd" else _part(one, day, seconds) for one in tokens
            )
        time = ":".join(_part(CodeToken("date", unit), day, seconds) for unit in clock.split(":")) if clock else ""
        return f"{day} {time}".strip()

    return shown


def _with_minutes(section: Section) -> Section:
    """Return a section in which minutes, which follow hours or precede seconds, are `n`."""
    places = [place for place, token in enumerate(section) if token.kind in ("date", "elapsed")]
    letters = [section[place].value[0].lower() for place in places]
    tokens = list(section)
    for n, place in enumerate(places):
        is_minute = letters[n] == "m" and ("h" in letters[max(0, n - 1) : n] or "s" in letters[n + 1 : n + 2])
        if is_minute or (letters[n] == "m" and section[place].kind == "elapsed"):
            tokens[place] = CodeToken(section[place].kind, "n" * len(section[place].value))
    return tokens


def _day(days: int, *, since_1904: bool) -> date:
    if since_1904:
        return date(1904, 1, 1) + timedelta(min(days, _LAST_DAY - 1462))
    return date(1899, 12, 30) + timedelta(days + (days < 60))  # Excel has a 29 February 1900


def _elapsed(token: CodeToken, seconds: float) -> str:
    letter = token.value[0].lower()
    if token.kind == "elapsed":
        return f"{int(seconds // {'h': 3600, 'n': 60, 's': 1}[letter]):0{len(token.value)}}"
    return _part(token, date.min, seconds % _DAY)


def _part(token: CodeToken, day: date, seconds: float, *, half: bool = False) -> str:
    if token.kind != "date":
        afternoon = seconds >= _DAY / 2
        return ("PM" if afternoon else "AM") if token.kind == "half" else token.value
    letter, width = token.value[0].lower(), len(token.value)
    hours = int(seconds // 3600)
    if letter == "y":
        return str(day.year)
    if letter == "m":
        name = _MONTHS[day.month - 1]
        return f"{day.month:0{width}}" if width < 3 else name if width == 4 else name[:3]
    if letter == "h":
        return f"{(hours + 11) % 12 + 1 if half else hours:0{width}}"
    if letter == "n":
        return f"{int(seconds // 60 % 60):0{width}}"
    decimals = token.value.count("0")
    return f"{seconds % 60:0{width if decimals else min(width, 2)}.{decimals}f}"
