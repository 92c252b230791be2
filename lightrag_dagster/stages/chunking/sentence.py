"""Method `sentence`: whole sentences, packed up to the size."""

from lightrag_dagster.settings import ChunkerSettings
from lightrag_dagster.stages.chunking import boundaries
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools
from lightrag_dagster.stages.chunking.splitter import Divider, cuts_of, overlapping


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Pack sentences into chunks; one that is longer than `size` is cut between words, else between tokens."""
    text, measured = document.text, tools.tokenizer.measure(document.text)
    levels = [boundaries.sentences(text), boundaries.words(text)]
    spans = Divider(text, measured, settings.size - settings.overlap, levels).divide(0, len(text))
    return overlapping(cuts_of(text, measured, spans), measured, settings.overlap, boundaries.sentences(text))
