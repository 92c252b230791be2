"""The models that questions are put to, called from plain code wherever it runs.

They live on an event loop in a thread of their own, so a notebook, an asset or a web service that has a loop running
may ask just as a script may, and several threads may ask at once.
"""

import asyncio
import logging
import threading
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from lightrag_dagster.errors import EmbeddingError, QueryError, StoreError
from lightrag_dagster.llm.protocol import ChatModel, ChatRequest, ChatResponse, Embedder, Vectors
from lightrag_dagster.llm.providers import open_chat_model, open_plain_chat_model, open_plain_embedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from lightrag_dagster.stores.home import Home

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Models:
    """A language model and an embedder, each opened when it is first asked and kept until `close`."""

    def __init__(self, llm: LLMSettings, embedding: EmbeddingSettings, embedder_identity: str, home: Home) -> None:
        """Remember what to open; `embedder_identity` is what made the vectors that questions are compared with."""
        self._llm = llm
        self._embedding = embedding
        self._embedder_identity = embedder_identity
        self._home = home
        self._opened = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._chat_model: ChatModel | None = None
        self._embedder: Embedder | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lightrag-models", daemon=True)
        self._thread.start()

    def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request, from the response store where it can; raises as `ChatModel.complete`."""
        return self._run(self._complete(request))

    def embed(self, texts: Sequence[str], corpus_state: Vectors | None) -> Vectors:
        """Return unit vectors for questions; raises as `Embedder.embed_queries`. Nothing is stored."""
        return self._run(self._embed(texts, corpus_state))

    def close(self) -> None:
        """Close the models and end the thread; closing again does nothing."""
        if self._loop.is_closed():
            return
        self._run(self._opened.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        if self._loop.is_closed():
            work.close()
            raise QueryError("this knowledge base is closed; open it again")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _complete(self, request: ChatRequest) -> ChatResponse:
        async with self._opening:
            if self._chat_model is None:
                self._chat_model = await self._open_chat_model()
        return await self._chat_model.complete(request)

    async def _open_chat_model(self) -> ChatModel:
        try:
            return await self._opened.enter_async_context(open_chat_model(self._llm, self._home))
        except StoreError as error:
            # Readers may have no right to write in the home; they can ask all the same.
            _log.warning("answers are not stored: %s", error)
            return await self._opened.enter_async_context(open_plain_chat_model(self._llm))

    async def _embed(self, texts: Sequence[str], corpus_state: Vectors | None) -> Vectors:
        async with self._opening:
            if self._embedder is None:
                embedder = await self._opened.enter_async_context(open_plain_embedder(self._embedding))
                if embedder.identity != self._embedder_identity:
                    raise EmbeddingError(
                        f"the snapshot was embedded by {self._embedder_identity}, and this version has"
                        f" {embedder.identity}; run `lightrag-dagster run` to embed again"
                    )
                self._embedder = embedder
        return await self._embedder.embed_queries(texts, corpus_state)
