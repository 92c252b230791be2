"""The models that questions are put to, called from plain code wherever it runs.

They live on an event loop in a thread of their own, so a notebook, an asset or a web service that has a loop running
may ask just as a script may, and several threads may ask at once.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse, Embedder, Vectors
from lightrag_dagster.errors import EmbeddingError, QueryError, StoreError
from lightrag_dagster.models.providers import (
    open_chat_model,
    open_embedder,
    open_plain_chat_model,
    open_plain_embedder,
)
from lightrag_dagster.settings import LLMSettings, Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage import manifest
from lightrag_dagster.storage.home import Home

if TYPE_CHECKING:
    from lightrag_dagster.models.rerankers import Reranker

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Models:
    """A language model, an embedder and a reranker, each opened when it is first asked and kept until `close`."""

    def __init__(self, settings: Settings, vectors: manifest.Vectors, account: Account | None = None) -> None:
        """Remember what to open.

        `vectors` says what made those that questions are compared with; `account` pays for it.
        """
        self._account = account
        self._llm = settings.llm
        self._rerank = settings.rerank
        # A question is comparable with the snapshot's vectors only when the same embedder makes its own.
        self._embedding = vectors.settings(settings.embedding)
        self._embedder_identity = vectors.identity
        self._home = Home(settings.home)
        self._opened = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._chat_models: list[tuple[LLMSettings, ChatModel]] = []
        self._plain_chat_model: ChatModel | None = None
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lightrag-models", daemon=True)
        self._thread.start()

    def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request, from the response store where it can; raises as `ChatModel.complete`."""
        return self._run(self._complete(request))

    def embed(self, texts: Sequence[str], corpus_state: Vectors | None) -> Vectors:
        """Return unit vectors for questions; raises as `Embedder.embed_queries`."""
        return self._run(self._embed(texts, corpus_state))

    @property
    def reranks(self) -> bool:
        """Whether a reranker is configured."""
        return self._rerank.provider != "none"

    def rerank(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return positions of the best texts and their scores; raises as `Reranker.rerank` and `open_reranker`."""
        return self._run(self._reranked(query, texts, limit))

    def stream(self, request: ChatRequest) -> Iterator[str]:
        """Yield an answer piece by piece; raises as `ChatModel.complete`. Nothing is stored.

        A model that has no `stream` of its own gives the stored answer, line by line.
        """
        pieces: SimpleQueue[str | None] = SimpleQueue()
        pumping = self._start(self._pump(request, pieces.put))
        pumping.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                yield piece
            pumping.result()
        finally:
            pumping.cancel()

    def close(self) -> None:
        """Close the models and end the thread; closing again does nothing."""
        if self._loop.is_closed():
            return
        try:
            self._run(self._opened.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        future = self._start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        if self._loop.is_closed():
            work.close()
            raise QueryError("this knowledge base is closed; open it again")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _pump(self, request: ChatRequest, put: Callable[[str], None]) -> None:
        async with self._opening:
            if self._plain_chat_model is None:
                settings = self._llm.of(request.role)
                self._plain_chat_model = await self._opened.enter_async_context(open_plain_chat_model(settings))
        stream = getattr(self._plain_chat_model, "stream", None)
        if stream is None:
            for line in (await self._complete(request)).text.splitlines(keepends=True):
                put(line)
            return
        async for piece in stream(request):
            put(piece)

    async def _reranked(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        from lightrag_dagster.models.rerankers import open_reranker

        async with self._opening:
            if self._reranker is None:
                self._reranker = await self._opened.enter_async_context(open_reranker(self._rerank))
        return await self._reranker.rerank(query, texts, limit)

    async def _complete(self, request: ChatRequest) -> ChatResponse:
        settings = self._llm.of(request.role)
        async with self._opening:
            # Roles with the same settings share a model, and with it a limit of requests in flight.
            model = next((model for known, model in self._chat_models if known == settings), None)
            if model is None:
                model = await self._open_chat_model(settings)
                self._chat_models.append((settings, model))
        return await model.complete(request)

    async def _open_chat_model(self, settings: LLMSettings) -> ChatModel:
        try:
            return await self._opened.enter_async_context(open_chat_model(settings, self._home, account=self._account))
        except StoreError as error:
            # Readers may have no right to write in the home; they can ask all the same.
            _log.warning("answers are not stored: %s", error)
            return await self._opened.enter_async_context(open_plain_chat_model(settings))

    def _open_embedder(self) -> AbstractAsyncContextManager[Embedder]:
        if self._account is None:
            return open_plain_embedder(self._embedding)
        return open_embedder(self._embedding, self._home, self._account)

    async def _embed(self, texts: Sequence[str], corpus_state: Vectors | None) -> Vectors:
        async with self._opening:
            if self._embedder is None:
                embedder = await self._opened.enter_async_context(self._open_embedder())
                if embedder.identity != self._embedder_identity:
                    raise EmbeddingError(
                        f"the snapshot was embedded by {self._embedder_identity}, and this version has"
                        f" {embedder.identity}; run `lightrag-dagster backfill --knowledge-base` to embed again"
                    )
                self._embedder = embedder
        return await self._embedder.embed_queries(texts, corpus_state)
