"""Method `custom`: a function of the user's own."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from lightrag_dagster.core.functions import load_function
from lightrag_dagster.core.installed import naming
from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings.chunking import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools, trimmed

_log = logging.getLogger(__name__)

SETTING = "chunking.function"

Span = tuple[int, int] | tuple[int, int, str | None]
"""First character and one past the last, and the context if there is one."""

CutText = Callable[[str, int, int, Callable[[str], int]], Iterable[Span]]
"""A function of text, size and overlap in tokens, and a token counter: spans in order of their start."""


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Call `function(text, size, overlap, count_tokens)`, and trim white space off the spans that it returns.

    Text that is in no span is logged by its number of characters.

    Raises:
        SettingsError: there is no such function.
        SourceError: it fails, does not return spans of the text, or returns none of it.
    """
    assert settings.function is not None  # the settings are refused without it
    function: CutText = load_function(SETTING, settings.function)
    text = document.text
    mended_by = "; correct it, or give the document another chunking.method by a rule"
    with naming(f"{settings.function} failed on {document.name}", SourceError, mended_by):
        spans = list(function(text, settings.size, settings.overlap, tools.tokenizer.count))
    cuts: list[Cut] = []
    for span in spans:
        start, end, context = _checked(span, len(text), settings.function, document.name)
        start, end = trimmed(text, start, end)
        if start < end:
            cuts.append(Cut(start, end, tools.tokenizer.count(text[start:end]), context))
    cuts.sort(key=lambda one: one[:2])
    at = left_out = 0
    for start, end in [*(one[:2] for one in cuts), (len(text), len(text))]:
        left_out += sum(map(len, text[at:start].split()))
        at = max(at, end)
    if left_out:
        said = f"{settings.function} left out {left_out:,} characters of {document.name}, which are in no chunk"
        if not cuts:
            raise SourceError(f"{said}; correct it, or leave the document out by named_sources.X.exclude")
        _log.warning("%s", said)
    return cuts


def _checked(span: Any, length: int, function: str, name: str) -> tuple[int, int, str | None]:
    match span:
        case (int(start), int(end)) | (int(start), int(end), None) if 0 <= start <= end <= length:
            return start, end, None
        case (int(start), int(end), str(context)) if 0 <= start <= end <= length:
            return start, end, context or None
    raise SourceError(
        f"{function} returned {span!r} for {name}, which is not a span of its {length:,} characters; return tuples "
        "(start, end) or (start, end, context)"
    )
