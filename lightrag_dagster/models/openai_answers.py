"""Validation of what an OpenAI-compatible server answered, which the SDK does not check.

Text, finish reason and counts leave this module only as they may be stored. Whatever else a server sends is an unusable
answer, except for a count of tokens: one that is none is 0, as if it was not reported.
"""

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from openai.types.chat import ChatCompletionChunk
from pydantic_core import from_json

from lightrag_dagster.core.protocols import ChatResponse, token_count
from lightrag_dagster.errors import OutputLimitError, PermanentProviderError
from lightrag_dagster.models.openai_errors import NOT_JSON, FailedCallError, Target, unusable

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors that reading an answer of another shape ends in."""

SHAPELESS = "it is not shaped like a chat completion"


def read_completion(content: bytes, target: Target) -> ChatResponse:
    """Return the answer in the body of a reply.

    Raises:
        FailedCallError: it holds no usable one.
    """
    try:
        # Not `from_json`, which refuses lone surrogates.
        completion = json.loads(content)
    except (ValueError, RecursionError):
        raise unusable(target, NOT_JSON) from None
    return chat_response(completion, target)


def chat_response(completion: Any, target: Target) -> ChatResponse:
    """Return the answer in a completion, read from JSON; raises as `read_completion`."""
    try:
        choice = completion["choices"][0]
        message, reason = choice["message"], _text(choice.get("finish_reason")) or "stop"
        text, refusal = _text(message.get("content")), message.get("refusal")
        if not reason.isprintable():
            raise ValueError("not every database can hold the finish reason")
    except MALFORMED:
        raise unusable(target, SHAPELESS) from None
    who = f"model {target.model} at {target.host}"
    if reason == "content_filter":
        raise _final(f"the content filter of {who} stopped the answer; change or remove the text")
    if not text.strip():
        if reason == "length":
            told = f"{who} used up its output tokens without an answer; raise {target.settings}MAX_OUTPUT_TOKENS"
            raise FailedCallError(OutputLimitError(told), retry=False)
        if refusal and isinstance(refusal, str):
            raise _final(f"{who} refused to answer; change or remove the text")
        raise unusable(target, "it is empty")
    usage = completion.get("usage")
    taken = _count(usage, "prompt_tokens")
    # No more than were taken in, else they would cost less than nothing.
    cached = min(taken, _count(_part(usage, "prompt_tokens_details"), "cached_tokens"))
    return ChatResponse(text, reason, taken, _count(usage, "completion_tokens"), cached)


def piece_text(piece: ChatCompletionChunk) -> str:
    """Return the text in a piece of a stream, "" if it has none; raises one of MALFORMED."""
    return _text(piece.choices[0].delta.content) if piece.choices else ""


def read_embeddings(content: bytes, target: Target) -> tuple[list[npt.NDArray[np.float64]], int]:
    """Return the vectors in the body of a reply, in the order of the texts, and the tokens of the texts.

    Raises:
        FailedCallError: it holds no embeddings.
    """
    try:
        answer = from_json(content)
        rows = [_numbers(item["embedding"]) for item in _ordered(answer["data"])]
    except MALFORMED:
        raise unusable(target, "it holds no embeddings") from None
    return rows, _count(answer.get("usage"), "prompt_tokens")


def _ordered(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort by the numbers of vectors, which may come in any order; without numbers, they are in that of the texts."""
    numbers = {item.get("index") or 0 for item in items}
    if len(numbers) not in (1, len(items)) or not all(type(number) is int for number in numbers):
        raise ValueError("the numbers of the vectors say no order")
    return sorted(items, key=lambda item: item.get("index") or 0)


def _numbers(embedding: str | list[float]) -> npt.NDArray[np.float64]:
    """Read one vector, in base64 or as a list: a server may ignore the requested encoding."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    row = np.array(list(embedding))
    if row.ndim != 1 or row.dtype.kind not in "fiu":
        raise ValueError("an embedding is a list of numbers")
    return row.astype(np.float64)


def _text(value: str | None) -> str:
    """Return a text, "" for None, with lone surrogates replaced: JSON can carry them, and no store can hold them."""
    return "" if value is None else value.encode("utf-8", "replace").decode("utf-8")


def _count(usage: object, name: str) -> int:
    return token_count(_part(usage, name))


def _part(usage: object, name: str) -> object:
    return usage.get(name) if isinstance(usage, dict) else None


def _final(message: str) -> FailedCallError:
    return FailedCallError(PermanentProviderError(message), retry=False)
