"""Method `adaptive`: windows of tokens that are smaller in long documents, as EdgeQuake cuts."""

from lightrag_dagster.settings import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools

# Documents of more bytes → the share of `size` and `overlap`: EdgeQuake's 600 and 800 of 1,200 tokens.
_SHARES = ((100_000, 1 / 2), (50_000, 2 / 3))


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut into windows of tokens: of `size`, of two thirds of it above 50 KB of text, of half of it above 100 KB."""
    length = len(document.text.encode())
    share = next((share for bytes_, share in _SHARES if length > bytes_), 1.0)
    size = max(1, int(settings.size * share))
    spans = tools.tokenizer.windows(document.text, size, min(int(settings.overlap * share), size - 1))
    return [Cut(*span) for span in spans]
