"""Methods `token`, `adaptive` and `character`, which cut into windows of tokens."""

from collections.abc import Iterator

from lightrag_dagster.settings.chunking import ChunkerSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, Tools, trimmed

# Documents of more bytes → the share of `size` and `overlap`: EdgeQuake's 600 and 800 of 1,200 tokens.
_SHARES = ((100_000, 1 / 2), (50_000, 2 / 3))


def by_tokens(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut into windows of `size` tokens, as LightRAG cuts by default; each shares `overlap` with the one before."""
    return [Cut(*span) for span in tools.tokenizer.windows(document.text, settings.size, settings.overlap)]


def adaptive(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut into windows that are smaller in long documents, as EdgeQuake cuts.

    They are of `size`, of two thirds of it above 50 KB of text, of half of it above 100 KB.
    """
    length = len(document.text.encode())
    share = next((share for bytes_, share in _SHARES if length > bytes_), 1.0)
    size = max(1, int(settings.size * share))
    spans = tools.tokenizer.windows(document.text, size, min(int(settings.overlap * share), size - 1))
    return [Cut(*span) for span in spans]


def by_character(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Cut at each of the first of `separators`, which is left out, as LightRAG's `split_by_character` does.

    A part that is longer than `size` is cut into windows.
    """
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
        left, right = trimmed(text, start, start + len(part))
        if left < right:
            yield left, right
        start += len(part) + len(separator)
