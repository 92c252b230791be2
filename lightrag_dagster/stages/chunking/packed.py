"""Methods `recursive` and `sentence`: short pieces of the text, packed up to the size."""

from lightrag_dagster.settings.chunking import ChunkerSettings
from lightrag_dagster.stages.chunking import boundaries
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools
from lightrag_dagster.stages.chunking.splitter import Boundaries, Divider, cuts_of, overlapping


def recursive(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut at the first of `separators`, pieces that are still too long at the next, and pack short ones.

    This is LightRAG's method R, with boundaries that an edit hardly moves. A separator stays at the end of the piece
    before it. The overlap begins with a sentence, else with a word.
    """
    text = document.text
    return _packed(text, settings, tools, levels(text, settings), boundaries.sentences_or_words(text))


def sentence(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Pack sentences into chunks; one that is longer than `size` is cut between words, else between tokens."""
    text = document.text
    sentences = boundaries.sentences(text)
    return _packed(text, settings, tools, [sentences, boundaries.words(text)], sentences)


def levels(text: str, settings: ChunkerSettings) -> list[Boundaries]:
    """Return the boundaries of `separators`; an empty one at the end means the divider's own cuts."""
    return [boundaries.after(text, separator) for separator in settings.separators if separator]


def _packed(
    text: str, settings: ChunkerSettings, tools: Tools, levels: list[Boundaries], starts: Boundaries
) -> list[Cut]:
    """Cut at boundaries, the strongest first; the overlap begins at one of `starts`."""
    measured = tools.tokenizer.measure(text)
    spans = Divider(text, measured, settings.size - settings.overlap, levels).divide(0, len(text))
    return overlapping(cuts_of(text, measured, spans), measured, settings.overlap, starts)
