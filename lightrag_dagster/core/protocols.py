"""What the pipeline needs of a language model and of an embedding model.

Every provider implements these two protocols: offline rules, an OpenAI-compatible endpoint, and the wrappers that put
the response store and the vector store in front of either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from lightrag_dagster.settings import Role

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One call: what it is for, and the whole conversation.

    `max_output_tokens` overrides the provider's own setting when given. `attempt` counts up when an unusable answer
    makes the pipeline put the same question again: each attempt has a stored answer of its own. `json_answer` asks the
    provider for a JSON object, `answer_schema` for one of this JSON schema.
    """

    role: Role
    messages: tuple[Message, ...]
    max_output_tokens: int | None = None
    attempt: int = 0
    json_answer: bool = False
    answer_schema: Mapping[str, Any] | None = field(default=None, hash=False)


def rough_tokens(request: ChatRequest) -> int:
    """Return about how many tokens a request takes, rather too many than too few: one for 3 bytes, 8 a message."""
    return sum(len(message.content.encode()) // 3 + 8 for message in request.messages)


@dataclass(frozen=True)
class ChatResponse:
    """An answer, and what it took: tokens and US dollars when it was bought."""

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_usd: float = 0.0


class ChatModel(Protocol):
    """A language model."""

    @property
    def identity(self) -> str:
        """Names provider, model and parameters that shape an answer; part of every response key."""
        ...

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request.

        Raises:
            TransientProviderError: asking again later may help.
            PermanentProviderError: this request will fail again.
            ProviderAccessError: no request will succeed until a person acts.
        """
        ...


class Embedder(Protocol):
    """An embedding model. Document vectors depend on the text alone, never on the corpus."""

    @property
    def identity(self) -> str:
        """Names provider, model and dimensions; part of every vector key."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimensions).

        Raises:
            ProviderError: as for `ChatModel.complete`.
            EmbeddingError: the vectors have the wrong number, size or value.
        """
        ...

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return what `embed_queries` must know of the corpus, a 1-dimensional array, or None when nothing.

        It does not depend on the order of the texts.
        """
        ...

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors for questions, shape (len(texts), dimensions); raises as `embed_documents`."""
        ...


@dataclass
class Usage:
    """What a run did: calls that were made, answers that were already stored, and what the calls took."""

    calls: int = 0
    stored: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    failures: dict[str, int] = field(default_factory=dict)
    cut_texts: int = 0

    def add(self, response: ChatResponse, *, stored: bool) -> None:
        """Count one response."""
        if stored:
            self.stored += 1
            return
        self.calls += 1
        self.input_tokens += response.input_tokens
        self.cached_input_tokens += response.cached_input_tokens
        self.output_tokens += response.output_tokens
        self.cost_usd += response.cost_usd
