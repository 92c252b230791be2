"""Texts into batches that an embedding endpoint takes in one request."""

from collections.abc import Iterable, Iterator

from lightrag_dagster.core.tokens import rough_tokens
from lightrag_dagster.settings import EmbeddingSettings

BATCH_TOKENS = 100_000


def batches(texts: Iterable[str], settings: EmbeddingSettings) -> Iterator[list[str]]:
    """Yield the texts in their order, bounded by `batch_size` and, one token taken for 3 bytes, by BATCH_TOKENS.

    A text that is too long by itself is a batch of its own; the embedder cuts it.
    """
    batch: list[str] = []
    total = 0
    for text in texts:
        tokens = min(rough_tokens(text), settings.max_input_tokens)
        if batch and (len(batch) == settings.batch_size or total + tokens > BATCH_TOKENS):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += tokens
    if batch:
        yield batch
