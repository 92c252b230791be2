"""Rerankers: an endpoint with the API of Cohere and Jina, or a cross-encoder in this process."""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import httpx2
from pydantic import BaseModel, ValidationError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, SettingsError, TransientProviderError
from lightrag_dagster.models.places import Place
from lightrag_dagster.settings import RerankSettings

_ENDPOINTS = {
    "cohere": ("https://api.cohere.com/v2", "COHERE_API_KEY"),
    "jina": ("https://api.jina.ai/v1", "JINA_API_KEY"),
    "http": ("", "RERANK_API_KEY"),
}

_SECONDS = 30.0
_ATTEMPTS = 3
_TRANSIENT = {408, 409, 425, 429}


class Reranker(Protocol):
    """A model that scores texts by their relevance to a question."""

    async def rerank(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return positions and scores of `limit` texts, or of all if there are fewer, best first.

        Raises:
            ProviderError: the model gave no usable answer.
        """


@asynccontextmanager
async def open_reranker(settings: RerankSettings) -> AsyncIterator[Reranker]:
    """Open the reranker of the settings, whose provider is not `none` or `chat`, for the block.

    Raises:
        SettingsError: a URL, or the extra `rerank`, is missing.
    """
    if settings.provider == "local":
        yield _CrossEncoder(settings.model)
        return
    url, variable = _ENDPOINTS[settings.provider]
    url = settings.base_url or url
    if not url:
        raise SettingsError(
            "rerank.provider is http and rerank.base_url is not set; set it, such as http://localhost:8000/v1"
        )
    usual = "" if settings.base_url and settings.provider != "http" else variable
    place = Place(url, "rerank.base_url", settings.api_key_env or usual, settings.headers)
    headers = {"authorization": f"Bearer {key}"} if (key := place.key()) else {}
    async with httpx2.AsyncClient(timeout=_SECONDS, headers=headers | place.sent_headers()) as client:
        address = f"{url.rstrip('/').removesuffix('/rerank')}/rerank"
        yield _Endpoint(client, address, settings, place.variable or "rerank.api_key_env")


class _Result(BaseModel):
    index: int
    relevance_score: float


class _Answer(BaseModel):
    results: list[_Result]


class _Endpoint:
    """`POST {model, query, documents, top_n}` → `{results: [{index, relevance_score}]}`."""

    def __init__(self, client: httpx2.AsyncClient, url: str, settings: RerankSettings, variable: str) -> None:
        self._client = client
        self._url = url
        self._settings = settings
        self._variable = variable

    async def rerank(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        body = {
            "model": self._settings.model,
            "query": query,
            "documents": list(texts),
            "top_n": min(limit, len(texts)),
        }
        retrying = AsyncRetrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.5, max=10),
            retry=retry_if_exception_type(TransientProviderError),
            reraise=True,
        )
        answer: _Answer = await retrying(self._post, body)
        scores = {one.index: one.relevance_score for one in answer.results}
        return _best(self._settings.model, scores, len(texts), limit)

    async def _post(self, body: dict[str, Any]) -> _Answer:
        # No message quotes the server or the client's error: either may hold the key.
        name = f"reranker {self._settings.model or self._settings.provider}"
        try:
            response = await self._client.post(self._url, json=body)
        except httpx2.InvalidURL:
            raise ProviderAccessError(f"rerank.base_url of {name} is not a URL; correct it") from None
        except httpx2.HTTPError as error:
            raise TransientProviderError(
                f"{name} cannot be reached ({type(error).__name__}); check rerank.base_url and try again"
            ) from None
        if response.status_code in (401, 403):
            raise ProviderAccessError(f"{name} refuses the key; set {self._variable}")
        if response.status_code == 402:
            raise ProviderAccessError(f"the credit of {name} at {response.url.host} is used up; add some")
        if response.status_code in _TRANSIENT or response.status_code >= 500:
            raise TransientProviderError(f"{name} answers with status {response.status_code}; try again later")
        try:
            return _Answer.model_validate_json(response.content)
        except ValidationError:
            raise PermanentProviderError(
                f"{name} gives no results (status {response.status_code}); check rerank.base_url and rerank.model"
            ) from None


class _CrossEncoder:
    """A cross-encoder of sentence-transformers, loaded by the first call; one call at a time."""

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise SettingsError(
                "rerank.provider is local and its packages are missing; `pip install lightrag-dagster[rerank]`"
            ) from error
        self._name, self._load = model, partial(CrossEncoder, model)
        self._model: Any = None
        self._turn = asyncio.Lock()

    async def rerank(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        async with self._turn:
            return await asyncio.to_thread(self._scores, query, texts, limit)

    def _scores(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        try:
            self._model = self._load() if self._model is None else self._model
            scores = [float(score) for score in self._model.predict([(query, text) for text in texts])]
        except Exception as error:  # libraries raise errors of any class
            raise PermanentProviderError(
                f"rerank.model cannot be loaded or used ({error!r}); name a cross-encoder of one score, or a folder"
            ) from error
        return _best(self._name, dict(enumerate(scores)), len(texts), limit)


def _best(model: str, scores: Mapping[int, float], texts: int, limit: int) -> list[tuple[int, float]]:
    """Return positions and scores of `limit` texts, or of all, best first; raises PermanentProviderError."""
    if not all(0 <= index < texts and math.isfinite(score) for index, score in scores.items()):
        raise PermanentProviderError(f"reranker {model} scored unknown texts, or gave no numbers; try another")
    if len(scores) < (asked := min(limit, texts)):  # those without a score would be lost
        raise PermanentProviderError(
            f"reranker {model} scored {len(scores)} texts where {asked} were asked; try another"
        )
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:limit]
