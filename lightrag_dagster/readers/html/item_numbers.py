"""The numbers that a page or a chapter shows before the items of a list."""

import re
from collections.abc import Mapping, Sequence

from lightrag_dagster.readers.office.word.number_formats import write_number

_INTEGER = re.compile(r"\s*([+-]?\d{1,9})\s*")
_STYLED = re.compile(r"list-style(?:-type)?\s*:[^;]*?\b(lower|upper)-(alpha|latin|roman)\b", re.IGNORECASE)
_NAMED = re.compile(r"(?<!\S)(lower|upper)(alpha|roman)(?!\S)")  # the class of lists of docutils
_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


def item_numbers(ordered: Mapping[str, str], values: Sequence[str | None]) -> list[str]:
    """Return the numbers of the items of an `ol`, by its attributes and the `value` of each item."""
    backwards = "reversed" in ordered
    form = _form(ordered)
    number = integer_of(ordered.get("start"), len(values) if backwards else 1)
    numbers = list[str]()
    for value in values:
        number = integer_of(value, number)
        numbers.append(f"{write_number(number, form)}.")
        number += -1 if backwards else 1
    return numbers


def integer_of(text: str | None, default: int) -> int:
    """Return the whole number that a text is, or a default."""
    found = _INTEGER.fullmatch(text or "")
    return int(found[1]) if found else default


def _form(ordered: Mapping[str, str]) -> str:
    if styled := _STYLED.search(ordered.get("style") or "") or _NAMED.search(ordered.get("class") or ""):
        return styled[1].lower() + ("Roman" if styled[2].lower() == "roman" else "Letter")
    return _FORMS.get(ordered.get("type") or "", "decimal")
