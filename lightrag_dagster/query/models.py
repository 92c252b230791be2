"""The models for questions, called from synchronous code.

They run on an event loop in a thread of their own, so that code with or without a running loop, in any thread, can call
them.
"""

import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, get_args

from lightrag_dagster.core.background import BackgroundLoop
from lightrag_dagster.core.holding import holding
from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse, Embedder, Vectors
from lightrag_dagster.core.roles import Role, RoleOfQuestion
from lightrag_dagster.errors import ClosedError, EmbeddingError, StoreError
from lightrag_dagster.models import providers
from lightrag_dagster.models.cached import StoredChatModel
from lightrag_dagster.query.asked import UnderWay, current
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.prices import unpriced
from lightrag_dagster.storage import manifests
from lightrag_dagster.storage.home import Home

_log = logging.getLogger(__name__)

Model = TypeVar("Model")
Result = TypeVar("Result")


_payer: ContextVar[Account | None] = ContextVar("lightrag_payer", default=None)


def billed_to(account: Account | None) -> AbstractContextManager[None]:
    """Bill the calls for questions of the block to an account, each when it ends, in place of that of their base."""
    return holding(_payer, account)


def unbounded(settings: Settings) -> str | None:
    """Return a line on a model that questions may ask and no limit of dollars bounds, since its price is not known."""
    said = [*map(unpriced, map(settings.llm.of, get_args(RoleOfQuestion))), unpriced(settings.embedding)]
    return next(filter(None, said), None)


class Models:
    """Language models, an embedder and a reranker, each opened at its first call and kept until `close`."""

    def __init__(self, settings: Settings, vectors: manifests.Vectors, account: Account | None = None) -> None:
        """Take the settings of the models; `vectors` names the embedder of the snapshot, `account` is billed."""
        self._account = account
        # Fewer attempts than a build makes at night: a person waits.
        self._llm = settings.llm.hurried(settings.query.max_retries)
        self._rerank = settings.rerank
        # A question is comparable with the snapshot's vectors only when the same embedder makes its own.
        self._embedding = providers.settings_of(vectors, settings.embedding).hurried(settings.query.max_retries)
        self._embedder_identity = vectors.identity
        self._home = Home.of(settings)
        self._opened: dict[str, Any] = {}
        self._opening = threading.Lock()
        self._stack = AsyncExitStack()
        self._loop = BackgroundLoop("lightrag-models")

    def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request, from the response store if possible; raises as `ChatModel.complete`."""
        if payer := _payer.get():
            role, stored = request.role, self._stored_model(request.role)
            apart = providers.billed_apart(stored, self._llm, self._home, role, payer)
            return self._run(_once(apart, lambda model: model.complete(request)))
        return self._run(self._chat_model(request.role).complete(request))

    def embed(self, texts: Sequence[str], corpus_state: Vectors | None) -> Vectors:
        """Return unit vectors for questions.

        Raises:
            EmbeddingError: the snapshot was embedded by another embedder.
            ProviderError: as `Embedder.embed_queries`.
        """
        embedder = self._open("embedder", self._open_embedder)
        if embedder.identity != self._embedder_identity:
            again = "run" if self._embedding.provider == "offline" else "backfill --knowledge-base"
            raise EmbeddingError(
                f"the snapshot was embedded by {self._embedder_identity}, and this version has"
                f" {embedder.identity}; run `lightrag-dagster {again}` to embed again"
            )
        if payer := _payer.get():
            opening = providers.open_embedder(self._embedding, self._home, payer)
            return self._run(_once(opening, lambda model: model.embed_queries(texts, corpus_state)))
        return self._run(embedder.embed_queries(texts, corpus_state))

    def rerank(self, query: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return positions of the best texts and their scores; raises as `Reranker.rerank` and `open_reranker`."""
        from lightrag_dagster.models.rerankers import open_reranker

        return self._run(self._open("reranker", lambda: open_reranker(self._rerank)).rerank(query, texts, limit))

    def stream(self, request: ChatRequest, asked: UnderWay | None = None) -> Iterator[str]:
        """Yield an answer in pieces, without storing it; raises as `ChatModel.complete`.

        With an account, which needs the cost of the whole, and from a model that cannot stream, the pieces are the
        lines of a complete answer. The time of the question, `asked`, is that of all pieces.
        """
        model = self._open("stream", lambda: providers.open_plain_chat_model(self._llm.of(request.role)))
        stream = getattr(model, "stream", None)
        if stream is None or (_payer.get() or self._account) is not None:
            answer = self.complete(request)
            yield from answer.text.splitlines(keepends=True)
            if answer.finish_reason == "length":
                _log.warning("a streamed answer is cut off; raise llm.roles.answer.max_output_tokens")
            return
        pieces = SimpleQueue[str | None]()
        asked = current() if asked is None else asked

        async def pump() -> None:
            async for piece in stream(request):
                pieces.put(piece)

        try:
            pumping = self._loop.start(pump())
            pumping.add_done_callback(lambda _: pieces.put(None))
            try:
                with asked.ended_by(pumping.cancel):
                    while (piece := _next(pieces, asked)) is not None:
                        yield piece
                pumping.result()
            finally:
                pumping.cancel()
        except CancelledError:
            raise _closed() from None

    def warm(self) -> None:
        """Open the models that answer and embed, without asking them."""
        self._chat_model("answer")
        self._open("embedder", self._open_embedder)

    def close(self, timeout: float | None = None) -> None:
        """End the running calls, close the models and end the thread, in at most `timeout` seconds; once."""
        self._loop.close(self._stack.aclose, timeout)

    def _stored_model(self, role: Role) -> StoredChatModel:
        """Open one model a role, so that each records its calls under its own purpose."""
        return self._open(role, lambda: providers.open_chat_model(self._llm, self._home, role, self._account))

    def _chat_model(self, role: Role) -> ChatModel:
        own, plain = self._llm.of(role), f"{role} without a store"
        is_plain = own.provider == "offline" or plain in self._opened  # whose answers need no store, or have none
        try:
            if self._account is not None or not is_plain:
                return self._stored_model(role)
        except StoreError as error:
            if self._account is not None:  # whose limits are kept in the home
                raise
            # Readers without the right to write in the home can still ask.
            _log.warning("answers are not stored: %s", error)
        return self._open(plain, lambda: providers.open_plain_chat_model(own))

    def _open_embedder(self) -> AbstractAsyncContextManager[Embedder]:
        if self._account is None:
            return providers.open_plain_embedder(self._embedding)
        return providers.open_embedder(self._embedding, self._home, self._account)

    def _open(self, name: str, open_model: Callable[[], AbstractAsyncContextManager[Model]]) -> Model:
        with self._opening:
            if name not in self._opened:
                try:  # for all later questions too, so that it is not given up with this one
                    self._opened[name] = self._loop.run(self._stack.enter_async_context(open_model()))
                except CancelledError:
                    raise _closed() from None
            model: Model = self._opened[name]
            return model

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        try:
            return current().result(self._loop.start(coroutine))
        except CancelledError:
            raise _closed() from None


async def _once(opening: AbstractAsyncContextManager[Model], ask: Callable[[Model], Awaitable[Result]]) -> Result:
    """Ask a model that is opened for one call."""
    async with opening as model:
        return await ask(model)


def _next(pieces: "SimpleQueue[str | None]", asked: UnderWay) -> str | None:
    """Wait for the next piece, or None at the end; raises as `UnderWay.result`."""
    try:
        with asked.aside():
            return pieces.get(timeout=asked.left())
    except Empty:
        raise asked.too_late() from None


def _closed() -> ClosedError:
    return ClosedError("this knowledge base is closed; open it again")
