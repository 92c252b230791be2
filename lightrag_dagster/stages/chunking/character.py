"""Method `character`: a chunk for each part between two separators, LightRAG's `split_by_character`."""

from collections.abc import Iterator

from lightrag_dagster.settings import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools, trimmed


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut at every `separator`, which is in no chunk, and a part longer than `size` into windows.

    With `separator_only`, LightRAG's `split_by_character_only`, a long part stays whole. (There it is an error, which
    would cost the document.)
    """
    cuts: list[Cut] = []
    for start, end in _parts(document.text, settings.separator):
        part = document.text[start:end]
        tokens = tools.tokenizer.count(part)
        if tokens <= settings.size or settings.separator_only:
            cuts.append(Cut(start, end, tokens))
        else:
            windows = tools.tokenizer.windows(part, settings.size, settings.overlap)
            cuts += [Cut(start + left, start + right, length) for left, right, length in windows]
    return cuts


def _parts(text: str, separator: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between separators that are not blank."""
    start = 0
    while start <= len(text):
        found = text.find(separator, start)
        left, right = trimmed(text, start, found if found >= 0 else len(text))
        if left < right:
            yield left, right
        if found < 0:
            return
        start = found + len(separator)
