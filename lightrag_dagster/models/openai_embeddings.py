"""Embedding models behind an OpenAI-compatible endpoint."""

import asyncio
import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import openai
from openai import AsyncOpenAI

from lightrag_dagster.core.protocols import Usage, Vectors
from lightrag_dagster.core.tokens import load_tokenizer, rough_tokens
from lightrag_dagster.errors import EmbeddingError
from lightrag_dagster.models.identities import openai_embedder_identity
from lightrag_dagster.models.openai_chat import MALFORMED
from lightrag_dagster.models.openai_client import Endpoint
from lightrag_dagster.models.openai_errors import unusable
from lightrag_dagster.settings import EmbeddingSettings

_ENCODING = "o200k_base"
# OpenAI's models that can shorten their vectors; other servers reject the parameter.
_SHORTENING = re.compile(r"(?:^|/)text-embedding-3-")


class OpenAIEmbedder:
    """An embedding model behind `/embeddings`; one request for each call of a method."""

    def __init__(self, settings: EmbeddingSettings, usage: Usage) -> None:
        """Count input tokens of requests, and texts that were cut, in `usage`."""
        self._settings = settings
        self._usage = usage
        self._endpoint = Endpoint(settings)

    @property
    def identity(self) -> str:
        """Names model and dimensions; see `Embedder.identity`."""
        return openai_embedder_identity(self._settings)

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._settings.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, of the start of a text that is too long; see `Embedder.embed_documents`."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        fitting = [await self._cut(text) for text in texts]
        return await self._endpoint.call(lambda client: self._ask(client, fitting), sum(map(rough_tokens, fitting)))

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return None: these models know nothing of the corpus."""
        return None

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors, the same as for documents."""
        return await self.embed_documents(texts)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _cut(self, text: str) -> str:
        limit = self._settings.max_input_tokens
        # A token is at least one byte, so that most texts need no counting.
        if len(text.encode()) <= limit:
            return text
        cut = await asyncio.to_thread(load_tokenizer(_ENCODING).truncate, text, limit)
        self._usage.cut_texts += cut != text
        return cut

    async def _ask(self, client: AsyncOpenAI, texts: Sequence[str]) -> Vectors:
        settings = self._settings
        response = await client.embeddings.create(
            model=settings.model,
            input=list(texts),
            # The SDK's own choice is base64, which not every server knows.
            encoding_format="float",
            dimensions=settings.dimensions if _SHORTENING.search(settings.model) else openai.omit,
        )
        try:
            # Servers that number their vectors may send them in any order; others keep the order of the texts.
            ordered = sorted(response.data, key=lambda item: item.index or 0)
            rows = [np.array(list(item.embedding), dtype=np.float64) for item in ordered]
            tokens = response.usage.prompt_tokens if response.usage else 0
        except MALFORMED:
            raise unusable(self._endpoint.target, "it holds no embeddings") from None
        self._usage.input_tokens += tokens or 0
        return self._unit_vectors(rows, len(texts))

    def _unit_vectors(self, rows: Sequence[npt.NDArray[np.float64]], count: int) -> Vectors:
        who = f"model {self._endpoint.target.model} at {self._endpoint.target.host}"
        if len(rows) != count:
            raise EmbeddingError(f"{who} returned {len(rows)} vectors for {count} texts; choose another model")
        wrong = next((len(row) for row in rows if len(row) != self.dimensions), None)
        if wrong is not None:
            raise EmbeddingError(
                f"{who} returns vectors of {wrong} dimensions, but {self.dimensions} are configured; "
                f"set LIGHTRAG_EMBEDDING__DIMENSIONS={wrong}"
            )
        vectors = np.stack(rows)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingError(
                f"{who} returned a vector that is zero or not finite; run again or choose another model"
            )
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit
