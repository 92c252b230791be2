"""Method `token`: windows of tokens, as LightRAG cuts by default."""

from lightrag_dagster.settings import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut into windows of `size` tokens; each shares `overlap` with the one before.

    With `tolerance`, the ends depend on the text; see `Tokenizer.windows`.
    """
    spans = tools.tokenizer.windows(document.text, settings.size, settings.overlap, settings.tolerance)
    return [Cut(*span) for span in spans]
