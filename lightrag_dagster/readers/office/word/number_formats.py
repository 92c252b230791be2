"""Numbers of lists as Word writes them: letters, Roman and Chinese numerals, words and others."""

from collections.abc import Callable, Sequence

_ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"),
        strict=True,
    )
)
_LATIN, _RUSSIAN = "abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщыэюя"
_CHINESE = "〇一二三四五六七八九"
_WORDS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_MOST_ROMAN, _MOST_REPEATED = 4000, 20


def write_number(number: int, form: str) -> str:
    """Return a number in a format of WordprocessingML; in decimal digits if the format is not known here."""
    writer = _WRITERS.get(form)
    return (writer(number) if writer and number > 0 else "") or str(number) if form not in ("none", "bullet") else ""


def _roman(number: int) -> str:
    if number >= _MOST_ROMAN:
        return ""
    written = ""
    for size, sign in _ROMAN:
        count, number = divmod(number, size)
        written += sign * count
    return written


def _letters(alphabet: str) -> Callable[[int], str]:
    """Return a writer that continues with doubled letters after the last one: y, z, aa, bb."""

    def write(number: int) -> str:
        times, place = divmod(number - 1, len(alphabet))
        return alphabet[place] * (times + 1) if times < _MOST_REPEATED else ""

    return write


def _chinese(number: int) -> str:
    if number >= 100:
        return "".join(_CHINESE[int(digit)] for digit in str(number))
    tens, ones = divmod(number, 10)
    ten = "" if not tens else "十" if tens == 1 else f"{_CHINESE[tens]}十"
    return ten + (_CHINESE[ones] if ones else "")


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def _word(words: Sequence[str]) -> Callable[[int], str]:
    return lambda number: words[number - 1] if number <= len(words) else ""


def _circled(number: int) -> str:
    return chr(0x2460 + number - 1) if number <= 20 else ""


_WRITERS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "lowerLetter": _letters(_LATIN),
    "upperLetter": _letters(_LATIN.upper()),
    "russianLower": _letters(_RUSSIAN),
    "russianUpper": _letters(_RUSSIAN.upper()),
    "ordinal": _ordinal,
    "cardinalText": _word(_WORDS),
    "ordinalText": _word(_ORDINALS),
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedCircleChinese": _circled,
    "ideographDigital": lambda number: "".join(_CHINESE[int(digit)] for digit in str(number)),
    **dict.fromkeys(("chineseCounting", "japaneseCounting", "koreanCounting", "taiwaneseCounting"), _chinese),
    **dict.fromkeys(("chineseCountingThousand", "taiwaneseCountingThousand"), _chinese),
}
