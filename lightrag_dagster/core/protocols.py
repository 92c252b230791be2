"""The protocols of a language model and of an embedding model.

Every provider implements them: offline rules, an OpenAI-compatible endpoint, and the wrappers that put the response
store and the vector store in front of either.
"""

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.roles import Role

Vectors = npt.NDArray[np.float32]

MOST_TOKENS = 10**9
"""The most tokens of one answer that count: no model has a window near it, and sums of answers stay within 64 bits."""

# What OpenAI's chat format adds to the text: for each message its role and two marks, and the beginning of the answer.
_TOKENS_A_MESSAGE = 4
_TOKENS_A_REQUEST = 3
_WHOLE = re.compile(r"([0-9]{1,10})(?:\.0)?")
_MARKS = (string.digits + string.punctuation).encode()


class Picture(NamedTuple):
    """An image that a model is shown: a hash of the original, a data URL, and the most tokens it may be billed as."""

    digest: str
    url: str
    tokens: int


@dataclass(frozen=True)
class Message:
    """One message of a conversation, with the images that belong to it.

    `begins_others` is True if other requests begin with all messages up to this one, so that a provider should cache
    them; it shapes no answer.
    """

    role: str
    content: str
    pictures: tuple[Picture, ...] = ()
    begins_others: bool = False

    @property
    def picture_tokens(self) -> int:
        """The most tokens that its images may be billed as."""
        return sum(picture.tokens for picture in self.pictures)


@dataclass(frozen=True)
class ChatRequest:
    """One call: its role and the whole conversation.

    `max_output_tokens` overrides the provider's own setting when given. `attempt` counts up when the same question is
    asked again after an unusable answer: each attempt has a stored answer of its own. `json_answer` asks the provider
    for a JSON object, `answer_schema` for one of this JSON schema. `language` is the code of the text's language, for
    rules; a language model finds it in the messages. With a `subject`, an answer is stored for it and the system
    message: what else the messages say may change without a new question.
    """

    role: Role
    messages: tuple[Message, ...]
    max_output_tokens: int | None = None
    attempt: int = 0
    json_answer: bool = False
    answer_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    language: str | None = None
    subject: str | None = None


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text, too high rather than too low: one for a digit or mark, or for 3 other bytes."""
    data = text.encode()
    return (len(data) + 2 * (len(data) - len(data.translate(None, _MARKS)))) // 3 + 1


def rough_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of a request, too high rather than too low: those of its texts, and 7 a message."""
    return sum(text_tokens(message.content) + 7 + message.picture_tokens for message in request.messages)


def question_tokens(request: ChatRequest, count_tokens: Callable[[list[str]], list[int]]) -> int:
    """Return how many input tokens a request is billed for, in the tokenizer's own models; images at most. Tokens."""
    counted = count_tokens([message.content for message in request.messages])
    pictures = sum(message.picture_tokens for message in request.messages)
    return sum(counted) + pictures + _TOKENS_A_MESSAGE * len(counted) + _TOKENS_A_REQUEST


@dataclass(frozen=True)
class ChatResponse:
    """An answer, with its tokens and its cost in US dollars when it was bought.

    Among the input tokens are those that were in the provider's cache, and those that were written to it.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_usd: float = 0.0
    cache_write_tokens: int = 0

    @property
    def billed(self) -> tuple[int, int, int, int]:
        """Input, output, cached input and cache write tokens, as a price takes them."""
        return self.input_tokens, self.output_tokens, self.cached_input_tokens, self.cache_write_tokens


def token_count(value: object) -> int:
    """Return a whole number of tokens up to MOST_TOKENS; 0, as if it was not reported, for anything else.

    Some gateways write 1500.0 or "1500".
    """
    if isinstance(value, str | float) and (written := _WHOLE.fullmatch(str(value))):
        value = int(written[1])
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


class ChatModel(Protocol):
    """A language model."""

    @property
    def identity(self) -> str:
        """Name of the provider, the model and the parameters that shape an answer; part of every response key."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request.

        Raises:
            TransientProviderError: asking again later may help.
            PermanentProviderError: this request will fail again.
            ProviderAccessError: no request will succeed until a person acts.
        """


class Embedder(Protocol):
    """An embedding model. Document vectors depend on the text alone, never on the corpus."""

    @property
    def identity(self) -> str:
        """Name of the provider, the model and the dimensions; part of every vector key."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimensions).

        Raises:
            ProviderError: as for `ChatModel.complete`.
            EmbeddingError: the vectors have the wrong number, size or value.
        """

    async def unread(self, texts: Sequence[str]) -> list[int]:
        """Return the number of characters of each text that its vector leaves out, since the model reads no more."""

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        """Return the 1-dimensional array about the corpus that `embed_queries` needs, or None if it needs nothing.

        The order of the texts does not matter, and the array of two lists of texts is the sum of theirs.
        """

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors for questions, shape (len(texts), dimensions); raises as `embed_documents`."""


@dataclass
class Usage:
    """Counts of one step: calls made, answers found in the store, and tokens and US dollars of the calls."""

    calls: int = 0
    stored: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    shortened_texts: int = 0
    refused_texts: int = 0
    cache_write_tokens: int = 0

    def add(self, response: ChatResponse, *, stored: bool) -> None:
        """Count one response."""
        if stored:
            self.stored += 1
            return
        self.calls += 1
        self.input_tokens += response.input_tokens
        self.cached_input_tokens += response.cached_input_tokens
        self.cache_write_tokens += response.cache_write_tokens
        self.output_tokens += response.output_tokens
        self.cost_usd += response.cost_usd

    @property
    def at_fault(self) -> int:
        """Texts of which a server took only a start, or nothing."""
        return self.shortened_texts + self.refused_texts

    def __add__(self, other: "Usage") -> "Usage":
        """Return the counts of two steps together."""
        return Usage(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def __sub__(self, other: "Usage") -> "Usage":
        """Return the counts without those of a part."""
        return Usage(**{name: value - getattr(other, name) for name, value in vars(self).items()})


class CountingEmbedder(Embedder, Protocol):
    """An embedder that counts its calls."""

    usage: Usage


class ExtractionModel(ChatModel, Protocol):
    """A chat model that counts its calls, and names the batches at the provider it still waits for."""

    usage: Usage

    @property
    def awaited(self) -> AbstractSet[str]:
        """Names of the batches whose responses are still to come."""

    def is_stored(self, request: ChatRequest) -> bool:
        """Return True if the answer to a request was bought before."""


class FreeModel:
    """The part that chat models share of which no answer is bought: none is waited for, and they open as they are."""

    awaited: AbstractSet[str] = frozenset()

    def __init__(self) -> None:
        self.usage = Usage()

    def is_stored(self, request: ChatRequest) -> bool:
        """Return False: nothing is stored."""
        return False

    def open(self) -> AbstractAsyncContextManager[Self]:
        """Give the model itself for a block."""
        return nullcontext(self)


OpenModel = Callable[[], AbstractAsyncContextManager[ExtractionModel]]
