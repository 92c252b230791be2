"""Embedding models behind an OpenAI-compatible endpoint."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any

import httpx2
import numpy as np
import openai
from openai import AsyncOpenAI

from lightrag_dagster.core.protocols import Usage, Vectors
from lightrag_dagster.core.text.tokens import load_tokenizer, rough_tokens
from lightrag_dagster.core.tracing import Attributes, span
from lightrag_dagster.models.identities import openai_embedder_identity
from lightrag_dagster.models.openai_answers import read_embeddings
from lightrag_dagster.models.openai_client import Endpoint, warn_of_estimate
from lightrag_dagster.models.rate_limit import ReserveTime
from lightrag_dagster.models.unit_vectors import unit_vectors
from lightrag_dagster.settings import EmbeddingSettings

_ENCODING = "o200k_base"
# OpenAI's models that can shorten their vectors; other servers reject the parameter.
_SHORTENING = re.compile(r"(?:^|/)text-embedding-3-")
_hosts_without_base64: set[str] = set()
"""Servers that refused base64 and then answered with floats, as this process found out."""


class OpenAIEmbedder:
    """An embedding model behind `/embeddings`; one request for each call of a method."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        usage: Usage,
        reserve_time: ReserveTime | None = None,
        billed: Attributes | None = None,
    ) -> None:
        """Count input tokens of requests, and texts that were cut, in `usage`; see also `OpenAIChatModel`."""
        self._settings = settings
        self._billed = billed or {}
        self._usage = usage
        self._endpoint = Endpoint(settings, reserve_time)

    @property
    def identity(self) -> str:
        """Name of the model, with its dimensions; see `Embedder.identity`."""
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
        asked = {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.provider.name": self._settings.provider,
            "gen_ai.request.model": self._settings.model,
            "gen_ai.embeddings.dimension.count": self.dimensions,
            "server.address": self._endpoint.target.host,
            "lightrag.texts": len(texts),
        }
        with span(f"embeddings {self._settings.model}", asked | dict(self._billed), is_call=True):
            return await self._endpoint.call(lambda client: self._ask(client, fitting), sum(map(rough_tokens, fitting)))

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return None: these models do not use the corpus."""
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
        host = self._endpoint.target.host
        if host in _hosts_without_base64:
            return await self._post(client, texts, "float")
        try:
            return await self._post(client, texts, "base64")
        except (openai.BadRequestError, openai.UnprocessableEntityError):
            # If something else was wrong, this is refused too.
            vectors = await self._post(client, texts, "float")
        _hosts_without_base64.add(host)
        return vectors

    async def _post(self, client: AsyncOpenAI, texts: Sequence[str], encoding: str) -> Vectors:
        settings = self._settings
        body: dict[str, Any] = {"model": settings.model, "input": list(texts), "encoding_format": encoding}
        if _SHORTENING.search(settings.model):
            body["dimensions"] = settings.dimensions
        # The SDK's own models take twenty times as long to read the numbers as numpy does.
        response = await client.post("/embeddings", cast_to=httpx2.Response, body=body)
        target = self._endpoint.target
        rows, tokens = read_embeddings(response.content, target)
        if not tokens:
            warn_of_estimate(target)
        self._usage.input_tokens += tokens or sum(map(rough_tokens, texts))
        return unit_vectors(rows, len(texts), self.dimensions, f"model {target.model} at {target.host}")
