"""Texts into vectors: in batches that an endpoint takes in one request, or by the workers of an engine."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa

from lightrag_dagster.core.aio import gather_or_cancel, run_sync
from lightrag_dagster.core.protocols import Embedder, Vectors, text_tokens
from lightrag_dagster.engines.engine import LOCAL, Engine
from lightrag_dagster.offline import LexicalEmbedder
from lightrag_dagster.settings import EmbeddingSettings

BATCH_TOKENS = 100_000

# Fewer are embedded before a worker process has started.
_TEXTS_A_WORKER = 4_000


class Embedding(NamedTuple):
    """The way texts are embedded. `settings` bound one call of the embedder, whose own limit is for calls in flight.

    The rules of the offline embedder run on the engine; to another one, this process sends batches.
    """

    embedder: Embedder
    settings: EmbeddingSettings
    engine: Engine = LOCAL

    async def vectors_of(self, texts: Sequence[str], done: Callable[[int], None]) -> Vectors:
        """Return the vectors of texts in their order, and call `done` with the number of texts after each batch.

        Raises:
            ProviderError: see `Embedder.embed_documents`.
            EmbeddingError: likewise.
        """
        if self._has_workers_for(texts):
            vectors = np.concatenate(self._in_workers(_embed_rows, texts))
            done(len(texts))
            return vectors
        if self.settings.provider != "local":
            return await self._in_batches(texts, done)
        # A batch takes as long as its longest text, and memory runs out at the first batch or never.
        order = np.argsort([-len(text) for text in texts], kind="stable")
        return (await self._in_batches([texts[at] for at in order], done))[np.argsort(order)]

    async def unread_of(self, texts: Sequence[str]) -> list[int]:
        """Return the number of characters of each text that its vector leaves out; raises as `vectors_of`."""
        found = await gather_or_cancel(self.embedder.unread(one) for one in batches(texts, self.settings))
        return list(chain.from_iterable(found))

    def corpus_state(self, blocks: Iterable[Sequence[str]]) -> Vectors | None:
        """Return the corpus state of the texts in all blocks, which is the sum of theirs; see `Embedder`."""
        nothing = self.embedder.corpus_state([])
        if nothing is None:
            return None
        total = nothing.astype(np.float64)  # exact for many texts, too
        for texts in blocks:
            if self._has_workers_for(texts):
                states = self._in_workers(_count_rows, texts)
            else:
                states = [cast("Vectors", self.embedder.corpus_state(texts))]
            total += np.sum(states, axis=0)
        return total.astype(np.float32)

    def _has_workers_for(self, texts: Sequence[str]) -> bool:
        # Asking an engine for its workers may start them.
        return self.settings.provider == "offline" and len(texts) >= 2 * _TEXTS_A_WORKER and self.engine.workers > 1

    def _in_workers(
        self, function: Callable[[EmbeddingSettings, pa.Table], Vectors], texts: Sequence[str]
    ) -> list[Vectors]:
        """Apply a function to parts of texts, one for each worker that is worth it; parts in order."""
        size = -(-len(texts) // min(self.engine.workers, len(texts) // _TEXTS_A_WORKER))
        rows = pa.table({"text": texts})
        parts = [rows.slice(start, size) for start in range(0, len(texts), size)]
        return self.engine.map(partial(function, self.settings), parts)

    async def _in_batches(self, texts: Sequence[str], done: Callable[[int], None]) -> Vectors:
        return np.concatenate(await gather_or_cancel(self._embed(one, done) for one in batches(texts, self.settings)))

    async def _embed(self, texts: Sequence[str], done: Callable[[int], None]) -> Vectors:
        vectors = await self.embedder.embed_documents(texts)
        done(len(texts))
        return vectors


def _embed_rows(settings: EmbeddingSettings, rows: pa.Table) -> Vectors:
    return run_sync(LexicalEmbedder(settings.dimensions).embed_documents(rows["text"].to_pylist()))


def _count_rows(settings: EmbeddingSettings, rows: pa.Table) -> Vectors:
    return LexicalEmbedder(settings.dimensions).corpus_state(rows["text"].to_pylist())


def batches(texts: Iterable[str], settings: EmbeddingSettings) -> Iterator[list[str]]:
    """Yield the texts in their order, bounded by `batch_size` and, one token taken for 3 bytes, by BATCH_TOKENS.

    A text that is too long by itself is a batch of its own; the embedder cuts it.
    """
    batch: list[str] = []
    total = 0
    for text in texts:
        tokens = min(text_tokens(text), settings.max_input_tokens)
        if batch and (len(batch) == settings.batch_size or total + tokens > BATCH_TOKENS):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += tokens
    if batch:
        yield batch
