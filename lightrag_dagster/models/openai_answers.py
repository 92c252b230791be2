"""Validation of what an OpenAI-compatible server answered, which the SDK does not check.

Text, finish reason and counts leave this module only as they may be stored. Whatever else a server sends is an unusable
answer, except for a count of tokens: one that is none is 0, as if it was not reported.
"""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from openai.types.chat import ChatCompletionChunk
from pydantic_core import from_json

from lightrag_dagster.core.protocols import MOST_TOKENS, ChatResponse, text_tokens, token_count
from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, ProviderAccessError
from lightrag_dagster.models.openai_client import warn_of_estimate
from lightrag_dagster.models.openai_errors import A_PAGE, NOT_JSON, FailedCallError, Target, error_inside, unusable
from lightrag_dagster.stages.extraction.reasoning import spoken

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors that reading an answer of another shape ends in."""

SHAPELESS = "it is not shaped like a chat completion"
NO_EMBEDDINGS = "it holds no embeddings"

_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
_BESIDE = (*_REASONING, "refusal")
_ENDS = {
    "length": re.compile("length$|(?:max|model|context|token).*(?:tokens|length|limit|window|reached|exceeded)"),
    "content_filter": re.compile(
        "contentfilter|safety|imagesafety|recitation|prohibited|blocklist|spii|guardrail|sensitive|refusal"
    ),
    "error": re.compile(".*(?:error|insufficient|overload)|abort|malformed|cancel"),
}


class Most(NamedTuple):
    """The tokens of a call that does not tell them: an estimate of its input, and the limit of its output."""

    estimate: int
    limit: int = 0

    def counted(self, told: ChatResponse, written: str, target: Target) -> ChatResponse:
        """Return an answer with estimates of the tokens that are not told: those of all that the model has written."""
        if self is ANY or (told.input_tokens and told.output_tokens):
            return told
        warn_of_estimate(target)
        given = told.output_tokens or min(text_tokens(written), self.limit)
        return replace(told, input_tokens=told.input_tokens or self.estimate, output_tokens=given)


ANY = Most(MOST_TOKENS, MOST_TOKENS)


def read_completion(content: bytes, target: Target, most: Most, *, prose: bool = False) -> ChatResponse:
    """Return the answer in the body of a reply; one in `prose` without its reasoning.

    Raises:
        FailedCallError: it holds no usable one.
    """
    try:
        # Not `from_json`, which refuses lone surrogates.
        completion = json.loads(content)
    except (ValueError, RecursionError):
        raise unusable(target, A_PAGE if content.lstrip().startswith(b"<") else NOT_JSON) from None
    return chat_response(completion, target, most, prose=prose)


def chat_response(completion: Any, target: Target, most: Most = ANY, *, prose: bool = False) -> ChatResponse:
    """Return the answer in a completion, read from JSON; raises as `read_completion`, with the tokens that it tells."""
    billed = _billed(_part(completion, "usage"))
    try:
        text, reason, written = _answer(completion, target, prose=prose)
    except FailedCallError as failed:
        failed.billed = billed if any(billed.billed) else None
        raise
    return replace(most.counted(billed, written, target), text=text, finish_reason=reason)


def _answer(completion: Any, target: Target, *, prose: bool) -> tuple[str, str, str]:
    """Return the text of a completion, why it ended, and all that the model has written."""
    if failed := error_inside(completion, target):
        raise failed
    said = ""
    try:
        # Gemini leaves out an empty message, and all choices if there is none.
        left_out: Any = {} if completion.get("object") == "chat.completion" else None
        choice = (completion.get("choices") or [left_out])[0]
        said = "" if choice is None else json.dumps(choice)
        message = choice.get("message", left_out)
        reason = _reason(_text(choice.get("finish_reason")) or "stop")
        text = _content(message.get("content"))
        refusal = message.get("refusal")
        written = _written(message)
        text = spoken(text, cut=reason == "length") if prose else text
        if not reason.isprintable():
            raise ValueError("not every database can hold the finish reason")
    except MALFORMED:
        raise unusable(target, SHAPELESS, said) from None
    who = f"model {target.model} at {target.host}"
    if reason == "content_filter":
        raise _final(f"the content filter of {who} stopped the answer; change or remove the text")
    if not text.strip():
        if reason == "length":
            told = f"{who} used up its output tokens without an answer; raise {target.settings}MAX_OUTPUT_TOKENS"
            raise FailedCallError(OutputLimitError(told), retry=False)
        if refusal and isinstance(refusal, str):
            raise _final(f"{who} refused to answer; change or remove the text")
        if written:
            off = """{"reasoning_effort": "none"} or {"chat_template_kwargs": {"enable_thinking": false}}"""
            remedy = f"switch that off, as by {target.settings}EXTRA_BODY={off}, or raise {target.settings}"
            raise unusable(target, "the model only reasoned", said, f"{remedy}MAX_OUTPUT_TOKENS")
        # One that tells its end is of a model: the address is right.
        remedy = f"if others are too, set {target.settings}MODEL to another" if choice.get("finish_reason") else ""
        raise unusable(target, "it is empty", said, remedy)
    if reason == "error":
        raise unusable(target, "it was broken off by an error", said, "try another provider")
    return text, reason, written


def _written(message: Any) -> str:
    """Return all that a model has written in a message: its text and its thoughts, which come under many names."""
    parts = (message.get("content"), next(filter(None, map(message.get, _REASONING)), None))
    return "".join(_text(one) if isinstance(one, str) else json.dumps(one) for one in parts if one).strip()


def _billed(usage: object) -> ChatResponse:
    """Return an answer with the tokens that are told, and nothing else."""
    taken = _count(usage, "prompt_tokens")
    cached = _count(_part(usage, "prompt_tokens_details"), "cached_tokens")
    written = _count(_part(usage, "prompt_tokens_details"), "cache_write_tokens")
    if cached + written > taken:  # counted apart from the others, or wrong; so none counts as cheaper
        if taken:
            taken += cached + written
        else:
            written = 0
        cached = 0
    # Some count what was thought in the total alone.
    given = max(_count(usage, "completion_tokens"), taken and _count(usage, "total_tokens") - taken)
    return ChatResponse("", "", taken, given, cached, cache_write_tokens=written)


class StreamedAnswer:
    """An answer in the pieces of a stream: its last text, what else it held, and why it ended."""

    def __init__(self) -> None:
        self._text = self.reason = ""
        self._others: dict[str, object] = {}

    def text_of(self, piece: ChatCompletionChunk) -> str:
        """Return the text in the next piece, "" if it has none; raises one of MALFORMED."""
        if not piece.choices:
            return ""
        choice = piece.choices[0]
        self.reason = _text(choice.finish_reason) or self.reason
        if choice.delta is None:  # what a filter has found, from Azure
            return ""
        text = _content(choice.delta.content)
        self._text = text if text.strip() else self._text
        others = {name: getattr(choice.delta, name, None) for name in _BESIDE}
        self._others |= {name: one if isinstance(one, str) else True for name, one in others.items() if one}
        return text

    def check_end(self, target: Target) -> None:
        """Raise FailedCallError, as for a whole answer, if the stream is over without one; or before its end."""
        message = {"content": self._text, **self._others}
        chat_response({"choices": [{"finish_reason": self.reason, "message": message}]}, target)
        if not self.reason:
            raise unusable(target, "it broke off before its end", remedy="see the log of the server")


def read_embeddings(content: bytes, target: Target) -> tuple[list[npt.NDArray[np.float64]], int]:
    """Return the vectors in the body of a reply, in the order of the texts, and the tokens of the texts.

    Raises:
        FailedCallError: it holds no embeddings, or one a token; with the tokens that it tells.
    """
    try:
        answer = from_json(content)
    except ValueError:
        raise unusable(target, NO_EMBEDDINGS) from None
    tokens = _billed(_part(answer, "usage")).input_tokens
    try:
        return _vectors(answer, target), tokens
    except FailedCallError as failed:
        failed.billed = ChatResponse("", input_tokens=tokens) if tokens else None
        raise


def _vectors(answer: Any, target: Target) -> list[npt.NDArray[np.float64]]:
    """Return the vectors in an answer, read from JSON; raises as `read_embeddings`."""
    try:
        if failed := error_inside(answer, target):
            raise failed
        items = _ordered(answer["data"])
        first = items[0]["embedding"]
        if isinstance(first, list) and isinstance(first[0], list):
            told = f"{target.host} gives no vector of a text, but one of each token (model {target.model}); "
            remedy = f"start it with pooling, or set {target.settings}MODEL to an embedding model"
            raise FailedCallError(ProviderAccessError(told + remedy), retry=False)
        return [_numbers(item["embedding"]) for item in items]
    except MALFORMED:
        raise unusable(target, NO_EMBEDDINGS) from None


def _ordered(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort by the numbers of vectors, which may come in any order; without numbers, they are in that of the texts."""
    numbers = {item.get("index") or 0 for item in items}
    if len(numbers) not in (1, len(items)) or not all(type(number) is int for number in numbers):
        raise ValueError("the numbers of the vectors say no order")
    return sorted(items, key=lambda item: item.get("index") or 0)


def _numbers(embedding: str | list[float | str | None]) -> npt.NDArray[np.float64]:
    """Read one vector, in base64, as a list or as its text: a server may ignore the requested encoding.

    Its numbers may be texts too, and those that are none null.
    """
    if isinstance(embedding, str):
        if not embedding.lstrip().startswith("["):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
        embedding = from_json(embedding)
    if not isinstance(embedding, list) or any(isinstance(number, bool | list) for number in embedding[:2]):
        raise ValueError("an embedding is a list of numbers")
    return np.array(embedding, dtype=np.float64)


def _content(value: str | list[Any] | None) -> str:
    """Return the text of a message; of one in parts, those of text, without thoughts and pictures."""
    if not isinstance(value, list):
        return _text(value)
    parts = ({"text": part} if isinstance(part, str) else part for part in value)
    return "".join(_text(part["text"]) for part in parts if part.get("type", "text") in ("text", "output_text"))


def _reason(told: str) -> str:
    """Return why an answer ended, in the words of OpenAI where others have their own for it."""
    plain = "".join(filter(str.isalpha, told.lower())).removeprefix("finishreason")
    return next((ours for ours, theirs in _ENDS.items() if theirs.match(plain)), told)


def _text(value: str | None) -> str:
    """Return a text, "" for None, with lone surrogates replaced: JSON can carry them, and no store can hold them."""
    return "" if value is None else value.encode("utf-8", "replace").decode("utf-8")


def _count(usage: object, name: str) -> int:
    return token_count(_part(usage, name))


def _part(usage: object, name: str) -> object:
    return usage.get(name) if isinstance(usage, dict) else None


def _final(message: str) -> FailedCallError:
    return FailedCallError(PermanentProviderError(message), retry=False)
