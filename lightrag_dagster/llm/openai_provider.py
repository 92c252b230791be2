"""Chat and embedding models behind an OpenAI-compatible endpoint: OpenAI itself, vLLM, Ollama and many others.

`OPENAI_API_KEY` and `OPENAI_BASE_URL` are read from the environment and kept nowhere.
"""

import re
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from lightrag_dagster.errors import EmbeddingError, PermanentProviderError
from lightrag_dagster.llm.identities import openai_chat_identity, openai_embedder_identity
from lightrag_dagster.llm.openai_client import Endpoint
from lightrag_dagster.llm.openai_errors import FailedCallError, unusable
from lightrag_dagster.llm.protocol import ChatRequest, ChatResponse, Usage, Vectors
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

# OpenAI's reasoning models take no temperature, and their limit by another name.
_REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9])")
# OpenAI's models that can shorten their vectors; other servers reject the parameter.
_SHORTENING = re.compile(r"(?:^|/)text-embedding-3-")
# The SDK does not check the shape of what arrives; reading another shape ends in one of these.
_MALFORMED = (AttributeError, IndexError, TypeError, ValueError)


class OpenAIChatModel:
    """A language model behind `/chat/completions`."""

    def __init__(self, settings: LLMSettings) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings)

    @property
    def identity(self) -> str:
        """Names model and parameters; see `ChatModel.identity`."""
        return openai_chat_identity(self._settings)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request; see `ChatModel.complete`."""
        return await self._endpoint.call(lambda client: self._ask(client, request))

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _ask(self, client: AsyncOpenAI, request: ChatRequest) -> ChatResponse:
        settings = self._settings
        limit = request.max_output_tokens or settings.max_output_tokens
        reasoning = _REASONING.search(settings.model) is not None
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        completion = await client.chat.completions.create(
            model=settings.model,
            messages=cast(list[ChatCompletionMessageParam], messages),
            temperature=openai.omit if reasoning else settings.temperature,
            max_completion_tokens=limit if reasoning else openai.omit,
            max_tokens=openai.omit if reasoning else limit,
        )
        try:
            return self._response(completion)
        except _MALFORMED:
            raise unusable(self._endpoint.target, "it is not shaped like a chat completion") from None

    def _response(self, completion: ChatCompletion) -> ChatResponse:
        target = self._endpoint.target
        choice = completion.choices[0]
        text = choice.message.content or ""
        who = f"model {target.model} at {target.host}"
        if choice.finish_reason == "content_filter":
            raise _final(f"the content filter of {who} stopped the answer; change or remove the text")
        if not text.strip():
            if choice.finish_reason == "length":
                raise _final(
                    f"{who} used up its output tokens without an answer; raise LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"
                )
            if choice.message.refusal:
                raise _final(f"{who} refused to answer; change or remove the text")
            raise unusable(target, "it is empty")
        usage = completion.usage
        details = usage.prompt_tokens_details if usage else None
        return ChatResponse(
            text=_encodable(text),
            finish_reason=choice.finish_reason or "stop",
            input_tokens=(usage.prompt_tokens if usage else None) or 0,
            output_tokens=(usage.completion_tokens if usage else None) or 0,
            cached_input_tokens=(details.cached_tokens if details else None) or 0,
        )


class OpenAIEmbedder:
    """An embedding model behind `/embeddings`; one request for each call of a method."""

    def __init__(self, settings: EmbeddingSettings, usage: Usage) -> None:
        """Count the input tokens of requests in `usage`."""
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
        """Return unit vectors; see `Embedder.embed_documents`."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return await self._endpoint.call(lambda client: self._ask(client, texts))

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return None: these models know nothing of the corpus."""
        return None

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors, the same as for documents."""
        return await self.embed_documents(texts)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

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
        except _MALFORMED:
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


def _final(message: str) -> FailedCallError:
    return FailedCallError(PermanentProviderError(message), retry=False)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can carry but no store can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
