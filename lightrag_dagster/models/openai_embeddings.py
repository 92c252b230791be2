"""Embedding models behind an OpenAI-compatible endpoint."""

import asyncio
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import httpx2
import numpy as np
import openai
from openai import AsyncOpenAI

from lightrag_dagster.core.attempts import afford, bill
from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.core.protocols import Usage, Vectors, text_tokens
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.core.tracing import span
from lightrag_dagster.errors import EmbeddingError, PermanentProviderError, ProviderAccessError
from lightrag_dagster.models.identities import openai_embedder_identity
from lightrag_dagster.models.openai_answers import read_embeddings
from lightrag_dagster.models.openai_client import Endpoint, warn_of_estimate
from lightrag_dagster.models.openai_errors import FailedCallError, explain
from lightrag_dagster.models.rate_limit import ReserveTime
from lightrag_dagster.models.unit_vectors import unit_vectors
from lightrag_dagster.settings import EmbeddingSettings

_ENCODING = "o200k_base"
# OpenAI's models that can shorten their vectors; other servers reject the parameter.
_SHORTENING = re.compile(r"(?:^|/)text-embedding-3-")
_PROBE = ["text"]
_LEAST, _MOST_PARTS = 64, 32  # characters of a start that still says something; parts of a text
_REFUSALS = (PermanentProviderError, EmbeddingError)
_MOST_ALIKE = 8  # different texts of which a model may make one vector
_encodings: dict[tuple[str, str], str] = {}
"""Server and model → the encoding it answered in, base64 or float, as this process found out."""

_log = logging.getLogger(__name__)


class OpenAIEmbedder:
    """An embedding model behind `/embeddings`; one request for each call of a method, unless a text is refused.

    Then the request is halved until that text is alone. It is cut shorter, down to some words; a text that is refused
    even so gets the zero vector, which is near nothing. A server that refuses a word as well refuses no text: its error
    ends the call. So does one vector for many texts. If there were just too many texts, fewer are sent from then on.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        usage: Usage,
        reserve_time: ReserveTime | None = None,
    ) -> None:
        """Count input tokens of requests, and texts at fault, in `usage`; see also `OpenAIChatModel`."""
        self._settings = settings
        self._usage = usage
        self._endpoint = Endpoint(settings, reserve_time)
        self._most = sys.maxsize
        self._taken = dict[str, int]()  # digest of a text → characters of the start that the server takes

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
        with span(f"embeddings {self._settings.model}", asked, is_call=True):
            return await self._halved(fitting)

    async def unread(self, texts: Sequence[str]) -> list[int]:
        """Return the number of characters of each text that is cut off, also by what the server took; see `Embedder`.

        A refused text counts as taken: what has no vector at all is counted apart.
        """
        fitting = [await self._cut(text) for text in texts]
        taken = (self._taken.get(text_digest(text), len(text)) for text in fitting)
        return [len(text) - start for text, start in zip(texts, taken, strict=True)]

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return None: these models do not use the corpus."""
        return None

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors, the same as for documents; a question that is refused is an error."""
        return await self._vectors([await self._cut(text) for text in texts], patient=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _cut(self, text: str) -> str:
        limit = self._settings.max_input_tokens
        # A token is at least one byte, so that most texts need no counting.
        if len(text.encode()) <= limit:
            return text
        if (key := text_digest(text)) not in self._taken:
            self._taken[key] = len(await asyncio.to_thread(load_tokenizer(_ENCODING).truncate, text, limit))
        return text[: self._taken[key]]

    async def _halved(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, in several requests if one is refused."""
        refused = None
        if len(texts) <= self._most:
            try:
                return await self._vectors(texts)
            except _REFUSALS as error:
                refused = error
            await self._vectors(_PROBE, patient=True)
        if len(texts) == 1:
            return await self._shorter(texts[0])
        middle, at_fault = len(texts) // 2, self._usage.at_fault
        halves = [await self._halved(texts[:middle]), await self._halved(texts[middle:])]
        if isinstance(refused, PermanentProviderError) and self._usage.at_fault == at_fault:
            self._most = min(self._most, len(texts) - middle)
            target = self._endpoint.target
            _log.warning(
                "%s takes at most %d texts in a request; set %sBATCH_SIZE", target.host, self._most, target.settings
            )
        return np.concatenate(halves)

    async def _shorter(self, text: str) -> Vectors:
        """Return the vector of the longest start of a text that is taken, the zero vector if none is."""
        start = text
        while start:
            try:
                vectors = await self._vectors([start])
            except _REFUSALS:
                start = start[: len(start) // 2] if len(start) > max(_LEAST, len(text) / _MOST_PARTS) else ""
                continue
            if start != text:
                self._taken[text_digest(text)] = len(start)
                self._usage.shortened_texts += 1
            return vectors
        await self._vectors(_PROBE, patient=True)  # as long as it is not the server that has failed meanwhile
        self._usage.refused_texts += 1
        return np.zeros((1, self.dimensions), dtype=np.float32)

    async def _vectors(self, texts: Sequence[str], *, patient: bool = False) -> Vectors:
        """Return the vectors of texts in one request; only a `patient` one is repeated after HTTP 500."""

        async def ask(client: AsyncOpenAI) -> Vectors:
            try:
                return await self._ask(client, texts)
            except openai.InternalServerError as error:
                if patient or error.status_code != HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                # Some fail so for one text: the numbers of its vector are none.
                failed = EmbeddingError(str(explain(error, self._endpoint.target)))
            raise failed

        return await self._endpoint.call(ask, sum(map(text_tokens, texts)))

    async def _ask(self, client: AsyncOpenAI, texts: Sequence[str]) -> Vectors:
        place = self._endpoint.target.host, self._settings.model
        encoding = _encodings.get(place, "base64")
        try:
            vectors = await self._post(client, texts, encoding)
        except (openai.BadRequestError, openai.UnprocessableEntityError, FailedCallError) as error:
            if place in _encodings or not getattr(error, "retry", True):
                raise
            encoding = "float"  # OpenRouter gives none in base64 for some; if something else was wrong, this fails too
            if isinstance(error, FailedCallError) and error.billed:
                bill(error.billed)
            await afford()
            vectors = await self._post(client, texts, encoding)
        _encodings[place] = encoding
        return vectors

    async def _post(self, client: AsyncOpenAI, texts: Sequence[str], encoding: str) -> Vectors:
        settings = self._settings
        body: dict[str, Any] = {"model": settings.model, "input": list(texts), "encoding_format": encoding}
        if _SHORTENING.search(settings.model):
            body["dimensions"] = settings.dimensions
        # The SDK's own models take twenty times as long to read the numbers as numpy does.
        response = await client.post("/embeddings", cast_to=httpx2.Response, body=body)
        target, estimate = self._endpoint.target, sum(map(text_tokens, texts))
        rows, tokens = read_embeddings(response.content, target)
        if not tokens:
            warn_of_estimate(target)
        self._usage.input_tokens += tokens or estimate
        who = f"model {target.model} at {target.host}"
        if len(rows) < len(texts):
            told = f"{who} returned {len(rows)} vectors for {len(texts)} texts; choose another model"
            raise FailedCallError(PermanentProviderError(told), retry=False)
        vectors = unit_vectors(rows, len(texts), self.dimensions, who)
        if len(set(texts)) > _MOST_ALIKE and (vectors == vectors[0]).all():
            told = f"{who} gave the same vector for {len(texts)} texts; see the server's log, or choose another model"
            raise ProviderAccessError(told)
        return vectors
