"""Method `recursive`: a cascade of separators, LightRAG's method R, with boundaries that an edit hardly moves."""

from lightrag_dagster.settings import ChunkerSettings
from lightrag_dagster.stages.chunking import boundaries
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools
from lightrag_dagster.stages.chunking.splitter import Boundaries, Divider, cuts_of, overlapping


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut at the first of `separators`, pieces that are still too long at the next, and pack short ones.

    A separator stays at the end of the piece before it. The overlap begins with a sentence, else with a word.
    """
    text, measured = document.text, tools.tokenizer.measure(document.text)
    divider = Divider(text, measured, settings.size - settings.overlap, levels(text, settings))
    spans = divider.divide(0, len(text))
    return overlapping(cuts_of(text, measured, spans), measured, settings.overlap, boundaries.sentences_or_words(text))


def levels(text: str, settings: ChunkerSettings) -> list[Boundaries]:
    """Return the boundaries of `separators`; an empty one at the end means the divider's own cuts."""
    return [boundaries.after(text, separator) for separator in settings.separators if separator]
