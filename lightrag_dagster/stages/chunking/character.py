"""Method `character`: a chunk for each part between two separators, LightRAG's `split_by_character`."""

from collections.abc import Iterator

from lightrag_dagster.settings import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut at each of the first of `separators`, which is left out, and a part longer than `size` into windows."""
    text, tokenizer = document.text, tools.tokenizer
    parts = list(_parts(text, settings.separators[0]))
    cuts: list[Cut] = []
    for (start, end), tokens in zip(parts, tokenizer.measure(text).counts(parts), strict=True):
        if tokens <= settings.size:
            cuts.append(Cut(start, end, tokens))
        else:
            windows = tokenizer.windows(text[start:end], settings.size, settings.overlap)
            cuts += [Cut(start + left, start + right, length) for left, right, length in windows]
    return cuts


def _parts(text: str, separator: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between separators that are not blank."""
    start = 0
    for part in text.split(separator):
        if body := part.strip():
            left = start + len(part) - len(part.lstrip())
            yield left, left + len(body)
        start += len(part) + len(separator)
