"""The response store and the vector store in front of a model: answers and vectors are paid for once.

An answer is durable before anything uses it. One of several identical calls in flight is made, and the others then find
its answer in the store. This holds for calls of one opened model: two readers may pay for the same question twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from lightrag_dagster.core.attempts import paying
from lightrag_dagster.core.identity import digest, embedding_key
from lightrag_dagster.core.protocols import (
    ChatModel,
    ChatRequest,
    ChatResponse,
    Embedder,
    Usage,
    Vectors,
    rough_tokens,
)
from lightrag_dagster.errors import StoreError, TransientProviderError
from lightrag_dagster.spending.budget import Budget
from lightrag_dagster.spending.prices import FREE, Price

if TYPE_CHECKING:  # SQLAlchemy takes longer to import than a question may.
    from lightrag_dagster.storage.database.responses import ResponseStore
    from lightrag_dagster.storage.database.vectors import VectorStore

_Locks = WeakValueDictionary[str, asyncio.Lock]
"""Key of a call in flight → its lock, while a call holds it or waits for it."""


class StoredChatModel:
    """A chat model that answers from the response store if it can, and counts its calls in `usage`."""

    awaited: AbstractSet[str] = frozenset()
    """Batches whose answers are still to come; none here, since every question is answered at once."""

    def __init__(
        self,
        model: ChatModel,
        store: "ResponseStore",
        usage: Usage,
        *,
        price: Price = FREE,
        budget: Budget | None = None,
        max_output_tokens: int = 0,
    ) -> None:
        """Buy from `model` at `price`, within `budget`; a request that sets no limit may have `max_output_tokens`."""
        self._model = model
        self._store = store
        self._locks = _Locks()
        self._price = price
        self._budget = budget or Budget()
        self._max_output_tokens = max_output_tokens
        self.usage = usage

    @property
    def identity(self) -> str:
        """Identity of the model behind."""
        return self._model.identity

    def counted_by(self, usage: Usage, budget: Budget) -> "StoredChatModel":
        """Return this model, with the same calls in flight, for calls that are counted elsewhere."""
        other = copy(self)
        other.usage, other._budget = usage, budget
        return other

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request; see `ChatModel.complete`. An empty answer is an error, and is not stored."""
        key = response_key(self.identity, request)
        if stored := self._stored(key):
            return stored
        in_flight = key in self._locks
        async with self._locks.setdefault(key, asyncio.Lock()):
            return (self._stored(key) if in_flight else None) or await self._buy(key, request)

    def is_stored(self, request: ChatRequest) -> bool:
        """Return True if the answer to a request is stored."""
        return bool(self._store.known([response_key(self.identity, request)]))

    def _stored(self, key: str) -> ChatResponse | None:
        stored = self._store.get_many([key]).get(key)
        if stored:
            self.usage.add(stored, stored=True)
        return stored

    async def _buy(self, key: str, request: ChatRequest) -> ChatResponse:
        limit = request.max_output_tokens or self._max_output_tokens
        tokens = rough_tokens(request)
        worst = self._price.most(tokens, limit)
        with self._budget.reservation(worst) as reservation:

            def pay(attempt: ChatResponse | None) -> None:
                """Count an attempt without an answer; one that was given up as the most that it can be billed."""
                lost = attempt or ChatResponse("", input_tokens=tokens)
                lost = replace(lost, cost_usd=self._price.of(*lost.billed) if attempt else worst)
                self.usage.add(lost, stored=False)
                reservation.settle(lost.cost_usd)

            with paying(pay, reservation.renew):
                response = await self._model.complete(request)
            if not response.text.strip():
                raise TransientProviderError(f"{self.identity} gave an empty answer; run again")
            # A model with a price of its own, as by batch, sets the cost itself.
            reservation.cost = response.cost_usd or self._price.of(*response.billed)
            response = replace(response, cost_usd=reservation.cost)
            self.usage.add(response, stored=False)
            self._store.put_many({key: response})
        await asyncio.sleep(0)  # Send the call that waited for this one's place before working on the answer.
        return response


def response_key(identity: str, request: ChatRequest) -> str:
    """Return the key of a request's answer: a hash of everything that shapes it; its price and provider mode do not.

    If the request has a subject, the subject is hashed in place of the messages after the system's.
    """
    messages = [
        (message.role, message.content, *(picture.digest for picture in message.pictures))
        for message in request.messages
        if request.subject is None or message.role == "system"
    ]
    parts: list[Any] = [identity, request.role, messages, request.max_output_tokens, request.attempt]
    if request.json_answer:
        parts.append(request.answer_schema or "json")
    if request.language:
        parts.append({"language": request.language})
    if request.subject is not None:
        parts.append({"subject": request.subject})
    return digest(*parts)


class StoredEmbedder:
    """An embedder that takes vectors from the vector store if it can.

    `usage.calls` counts requests to the model behind, `usage.stored` the vectors that were stored already.
    """

    def __init__(
        self,
        embedder: Embedder,
        store: "VectorStore",
        usage: Usage,
        *,
        price: Price = FREE,
        budget: Budget | None = None,
    ) -> None:
        """Buy from `embedder` at `price`, within `budget`."""
        self._embedder = embedder
        self._price = price
        self._budget = budget or Budget()
        self._store = store
        self._locks = _Locks()
        self.usage = usage

    @property
    def identity(self) -> str:
        """Identity of the embedder behind."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._embedder.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors; see `Embedder.embed_documents`. At most one batch, which is one request."""
        return await self._embed(texts, self.identity, self._embedder.embed_documents)

    async def unread(self, texts: Sequence[str]) -> list[int]:
        """Return what was stored with the vectors, and for others what the embedder behind counts; see `Embedder`."""
        keys = [embedding_key(self.identity, text) for text in texts]
        known = self._store.unread(keys)
        others = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        known |= zip(others, await self._embedder.unread(list(others.values())), strict=True)
        return [known[key] for key in keys]

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return the corpus state of the embedder behind."""
        return self._embedder.corpus_state(texts)

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors for questions, stored like those of documents."""
        state = "" if corpus_state is None else digest(corpus_state.tolist())
        identity = f"{self.identity}#query{state}"

        async def embed(missing: Sequence[str]) -> Vectors:
            return await self._embedder.embed_queries(missing, corpus_state)

        return await self._embed(texts, identity, embed)

    async def _embed(
        self, texts: Sequence[str], identity: str, embed: Callable[[Sequence[str]], Awaitable[Vectors]]
    ) -> Vectors:
        keys = [embedding_key(identity, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        found = self._store.get_many(wanted)
        missing = sorted(wanted.keys() - found.keys())
        bought: dict[str, Vectors] = {}
        if missing:
            async with AsyncExitStack() as held:
                # Sorted, so that two batches that share several texts never wait for each other.
                for key in missing:
                    await held.enter_async_context(self._locks.setdefault(key, asyncio.Lock()))
                found |= self._store.get_many(missing)
                bought = await self._buy({key: wanted[key] for key in missing if key not in found}, embed)
        self.usage.stored += len(found)
        return self._stacked([bought[key] if key in bought else found[key] for key in keys])

    async def _buy(
        self, texts: Mapping[str, str], embed: Callable[[Sequence[str]], Awaitable[Vectors]]
    ) -> dict[str, Vectors]:
        if not texts:
            return {}
        most = sum(len(text.encode()) for text in texts.values())

        with self._budget.reservation(self._price.of(most, 0)) as reservation:

            def pay(attempt: ChatResponse | None) -> None:
                tokens = attempt.input_tokens if attempt else most
                lost = ChatResponse("", input_tokens=tokens, cost_usd=self._price.of(tokens, 0))
                self.usage.add(lost, stored=False)
                reservation.settle(lost.cost_usd)

            try:
                with paying(pay, reservation.renew):
                    vectors = await embed(list(texts.values()))
                self.usage.calls += 1  # before the reservation ends, which counts what was used on its day
            finally:
                # Concurrent calls count tokens together: the first to end includes what others have counted by then.
                cost = self._price.of(self.usage.input_tokens, 0)
                reservation.cost, self.usage.cost_usd = cost - self.usage.cost_usd, cost
        bought = dict(zip(texts, vectors, strict=True))
        unread = dict(zip(texts, await self._embedder.unread(list(texts.values())), strict=True))
        # A text that was refused has the zero vector, and another run may ask for it again.
        self._store.put_many({key: vector for key, vector in bought.items() if vector.any()}, unread)
        return bought

    def _stacked(self, vectors: Sequence[Vectors]) -> Vectors:
        if any(len(vector) != self.dimensions for vector in vectors):
            raise StoreError(f"the vector store holds vectors of {self.identity} with another length; move it away")
        return np.stack(vectors) if vectors else np.zeros((0, self.dimensions), dtype=np.float32)
