"""An embedder whose model is kept by an engine."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from lightrag_dagster.core.protocols import Usage, Vectors
from lightrag_dagster.engines.engine import Engine, Kept
from lightrag_dagster.models.local.configuration import Kind
from lightrag_dagster.models.local.encoded import LoadedModel
from lightrag_dagster.models.local.identity import local_embedder_identity
from lightrag_dagster.models.local.loading import encode, load_model, unread
from lightrag_dagster.models.unit_vectors import unit_vectors
from lightrag_dagster.settings import EmbeddingSettings


class LocalEmbedder:
    """An embedder; each call of a method is one call of the model."""

    def __init__(self, settings: EmbeddingSettings, identity: str, model: Kept[LoadedModel], usage: Usage) -> None:
        """Count tokens in `usage`."""
        self._settings = settings
        self._model = model
        self._usage = usage
        self.identity = identity
        self.dimensions = settings.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, of the start of a text that is too long; see `Embedder.embed_documents`.

        Raises:
            SettingsError: the model cannot be loaded.
            EmbeddingError: its vectors have another length than is configured, or it is another model.
            EngineError: its workers were killed repeatedly.
        """
        return await self._embed("document", texts)

    async def unread(self, texts: Sequence[str]) -> list[int]:
        """Return the number of characters of each text beyond the tokens that the model reads; see `Embedder`."""
        return await self._model.call(unread, list(texts)) if texts else []

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return None: these models do not use the corpus."""
        return None

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors for questions, with the model's prompt for them."""
        return await self._embed("query", texts)

    async def _embed(self, kind: Kind, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        made = await self._model.call(encode, (kind, list(texts)))
        self._usage.input_tokens += made.tokens
        return unit_vectors(list(made.vectors), len(texts), self.dimensions, f"model {self._settings.model}")


@contextmanager
def open_local_embedder(settings: EmbeddingSettings, usage: Usage, engine: Engine) -> Iterator[LocalEmbedder]:
    """Open the model of the settings, which an engine keeps for the block; raises as `local_embedder_identity`."""
    identity = local_embedder_identity(settings)
    with engine.keep(partial(load_model, settings, identity)) as model:
        yield LocalEmbedder(settings, identity, model, usage)
