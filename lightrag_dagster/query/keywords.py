"""Keywords of a question, read from a language model's answer."""

import re
from collections.abc import Iterable

from lightrag_dagster.query.types import Keywords
from lightrag_dagster.stages.extraction.reasoning import read_object, without_thinking

_SHORT_QUESTION = 50

_LISTS = ("high_level_keywords", "low_level_keywords")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SEPARATORS = re.compile(r"[\n,;]+")


def parse_keywords(text: str) -> Keywords | None:
    """Read a JSON object with `high_level_keywords` and `low_level_keywords`; None if neither can be read.

    Reasoning and fences around it, lists written as one string, and JSON that was cut off or badly closed are accepted.
    """
    try:
        found = read_object(text)
    except ValueError:
        found = {}
    if not found.keys() & _LISTS:  # cut off, or in an object of another
        answer = without_thinking(text)
        found = {name: listed for name in _LISTS if (listed := _strings_after(name, answer))}
    lists = [found.get(name) for name in _LISTS]
    return Keywords(*map(_words, lists)) if any(isinstance(one, str | list) for one in lists) else None


def without_blanks(keywords: Keywords) -> Keywords:
    """Return the keywords stripped, without blank ones."""
    return Keywords(_words(keywords.high_level), _words(keywords.low_level))


def fall_back_to_question(keywords: Keywords, query: str) -> Keywords:
    """Return the keywords; a short question is its own low-level keyword if there are none at all."""
    return Keywords(low_level=(query,)) if keywords == Keywords() and len(query) < _SHORT_QUESTION else keywords


def _strings_after(name: str, text: str) -> list[str]:
    """Return the quoted strings between `"name": [` and the end of that list, or of the text."""
    _, found, rest = text.partition(f'"{name}"')
    _, opened, rest = rest.partition("[")
    return _STRING.findall(rest.partition("]")[0]) if found and opened else []


def _words(values: object) -> tuple[str, ...]:
    if isinstance(values, str):
        values = _SEPARATORS.split(values)
    if not isinstance(values, Iterable):
        return ()
    return tuple(value.strip() for value in values if isinstance(value, str) and value.strip())
