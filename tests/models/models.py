"""Small deterministic models that implement the real protocols."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message, Vectors
from lightrag_dagster.core.roles import Role
from lightrag_dagster.models.rules import OfflineChatModel

Answering = Callable[[ChatRequest], str | ChatResponse]


class ScriptedChatModel:
    """Answers by a function, after `delay` seconds; records requests and how many were in flight at once."""

    def __init__(self, answer: Answering, *, delay: float | None = 0.0, identity: str = "scripted") -> None:
        self._answer = answer
        self._delay = delay
        self._open = 0
        self.identity = identity
        self.requests: list[ChatRequest] = []
        self.peak = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        self._open += 1
        self.peak = max(self.peak, self._open)
        try:
            if self._delay is not None:
                await asyncio.sleep(self._delay)
            made = self._answer(request)
        finally:
            self._open -= 1
        if isinstance(made, ChatResponse):
            return made
        return ChatResponse(made, input_tokens=10, output_tokens=3, cached_input_tokens=1, cost_usd=0.25)


def role_of(body: Mapping[str, Any]) -> Role:
    """Tell what a request to `/chat/completions` is for: extraction or a summary."""
    return "extract" if "<|COMPLETE|>" in body["messages"][0]["content"] else "summarise"


def asks_for_facts(body: Mapping[str, Any]) -> bool:
    """Say whether a request to `/chat/completions` is that of a pass."""
    return '{"facts"' in body["messages"][0]["content"]


def offline_answer(body: Mapping[str, Any]) -> str:
    """Answer a request to `/chat/completions` by the offline rules, for a server that is to make sense."""
    messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
    answering = OfflineChatModel().complete(ChatRequest(role_of(body), messages))
    try:
        answering.send(None)  # it never waits for anything
    except StopIteration as done:
        answer: ChatResponse = done.value
        return answer.text
    raise AssertionError("the offline model waits for something")


class HashEmbedder:
    """Vectors from a hash of the text; questions get others than documents."""

    def __init__(self, dimensions: int = 4) -> None:
        self.dimensions = dimensions
        self.identity = f"hash/{dimensions}"
        self.batches: list[list[str]] = []

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        await asyncio.sleep(0.01)
        return np.stack([self._vector(text) for text in texts])

    async def unread(self, texts: Sequence[str]) -> list[int]:
        return [0] * len(texts)

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        return np.full(1, len(list(texts)), dtype=np.float32)

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        return await self.embed_documents([f"{text}?{corpus_state}" for text in texts])

    def _vector(self, text: str) -> Vectors:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).normal(size=self.dimensions)
        unit: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit
