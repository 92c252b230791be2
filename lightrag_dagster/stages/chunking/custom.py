"""Method `custom`: a function of the user's own."""

from collections.abc import Callable, Iterable
from typing import Any

from lightrag_dagster.core.functions import load_function
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.settings.chunking import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools, trimmed

SETTING = "chunking.function"

Span = tuple[int, int] | tuple[int, int, str | None]
"""First character and one past the last, and the context if there is one."""

CutText = Callable[[str, int, int, Callable[[str], int]], Iterable[Span]]
"""A function of text, size and overlap in tokens, and a token counter: spans in order of their start."""


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Call `function(text, size, overlap, count_tokens)`, and trim white space off the spans that it returns.

    Raises:
        SettingsError: there is no such function.
        SourceError: it fails, or does not return spans of the text.
    """
    assert settings.function is not None  # the settings are refused without it
    function: CutText = load_function(SETTING, settings.function)
    text = document.text
    try:
        spans = list(function(text, settings.size, settings.overlap, tools.tokenizer.count))
    except (Exception, SystemExit) as error:
        raise SourceError(
            f"{settings.function} failed on {document.name}: {type(error).__name__}: {one_line(error)}; correct it, or "
            "give the document another chunking.method by a rule"
        ) from error
    cuts: list[Cut] = []
    for span in spans:
        start, end, context = _checked(span, len(text), settings.function, document.name)
        start, end = trimmed(text, start, end)
        if start < end:
            cuts.append(Cut(start, end, tools.tokenizer.count(text[start:end]), context))
    return sorted(cuts, key=lambda one: one[:2])


def _checked(span: Any, length: int, function: str, name: str) -> tuple[int, int, str | None]:
    match span:
        case (int(start), int(end), *rest) if 0 <= start <= end <= length:
            match rest:
                case [] | [None]:
                    return start, end, None
                case [str(context)]:
                    return start, end, context or None
    raise SourceError(
        f"{function} returned {span!r} for {name}, which is not a span of its {length:,} characters; return tuples "
        "(start, end) or (start, end, context)"
    )
