"""Language models behind an OpenAI-compatible endpoint: OpenAI itself, Azure, vLLM, Ollama and many others.

Keys are read from the environment and never stored.
"""

import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from lightrag_dagster.core.attempts import afford, bill
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message, rough_tokens
from lightrag_dagster.core.roles import RoleOfQuestion
from lightrag_dagster.core.tracing import Attributes, span
from lightrag_dagster.models.identities import openai_chat_identity, reasoning_effort
from lightrag_dagster.models.offers import REFUSALS, Offer, Place
from lightrag_dagster.models.openai_answers import MALFORMED, SHAPELESS, Most, StreamedAnswer, read_completion
from lightrag_dagster.models.openai_client import Endpoint
from lightrag_dagster.models.openai_errors import REFUSED_FORMAT, FailedCallError, explain, rule_name, unusable
from lightrag_dagster.models.rate_limit import ReserveTime
from lightrag_dagster.settings import LLMSettings

# Posted directly: `completions.create` spends a third of a call's CPU on a walk through the body's annotations.
_PATH = "/chat/completions"
_OUTPUT_LIMITS, _PARTS = ("max_completion_tokens", "max_tokens"), 4
_FEW = 16  # output tokens of a request whose answer is not read
_PROSE = ("answer", "summarise", "describe")
_PROBE = ChatRequest("answer", (Message("user", "Hello"),), max_output_tokens=_FEW)

# From these models on, OpenAI caches up to marks alone; unless told otherwise it sets one at the end, which costs more.
_MARKED = re.compile(r"(?:^|[/.])gpt-(?:5\.[6-9]|[6-9])")
_BY_MARKS = {"mode": "explicit"}
_marks = Offer("prompt_cache_")
_limits = Offer("use max_completion_tokens")  # of which `max_tokens` and a temperature are the usual way
_schemas = Offer("response_format", "%s takes no json_schema; it gets the schema beside json_object for model %s")
_probed: set[Place] = set()
"""Places at which a request with a schema failed for no reason that was told, and was tried without."""

_log = logging.getLogger(__name__)


class OpenAIChatModel:
    """A language model behind `/chat/completions`."""

    def __init__(self, settings: LLMSettings, reserve_time: ReserveTime | None = None) -> None:
        """Keep rate limits by `reserve_time`, shared with other processes."""
        self._settings = settings
        self._endpoint = Endpoint(settings, reserve_time)
        self._no_room = float("inf")  # tokens of the shortest text that left no room for usual output tokens

    @property
    def identity(self) -> str:
        """Name of the model, with its parameters; see `ChatModel.identity`."""
        return openai_chat_identity(self._settings)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request; see `ChatModel.complete`."""
        with self._span(request) as note:
            probe = None if request.role in get_args(RoleOfQuestion) else self._probe
            response = await self._endpoint.call(partial(self._ask, request=request), rough_tokens(request), probe)
            note(
                {
                    "gen_ai.response.finish_reasons": [response.finish_reason],
                    "gen_ai.usage.input_tokens": response.input_tokens,
                    "gen_ai.usage.cache_read.input_tokens": response.cached_input_tokens,
                    "gen_ai.usage.cache_creation.input_tokens": response.cache_write_tokens,
                    "gen_ai.usage.output_tokens": response.output_tokens,
                }
            )
        return response

    async def stream(self, request: ChatRequest) -> AsyncIterator[str]:
        """Yield an answer in pieces; raises as `complete`. It is retried only before its first piece."""

        async def begin(client: AsyncOpenAI) -> AsyncStream[ChatCompletionChunk]:
            options = {"cast_to": ChatCompletionChunk, "stream": True, "stream_cls": AsyncStream[ChatCompletionChunk]}
            pieces: AsyncStream[ChatCompletionChunk] = await self._post(client, request, **options)
            return pieces

        pieces = await self._endpoint.call(begin, rough_tokens(request))
        answer, failed = StreamedAnswer(), None
        try:
            async for piece in pieces:
                if text := answer.text_of(piece):
                    yield text
            answer.check_end(self._endpoint.target)
            if answer.reason == "length":
                _log.warning("a streamed answer is cut off; raise %sMAX_OUTPUT_TOKENS", self._endpoint.target.settings)
        except FailedCallError as error:
            failed = error.error
        except openai.OpenAIError as error:
            failed = explain(error, self._endpoint.target).error
        except MALFORMED:
            failed = unusable(self._endpoint.target, SHAPELESS).error
        finally:
            await pieces.close()
        if failed:
            raise failed

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def _span(self, request: ChatRequest) -> AbstractContextManager[Callable[[Attributes], None]]:
        settings = self._settings
        asked = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": settings.provider,
            "gen_ai.request.model": settings.model,
            "gen_ai.request.max_tokens": request.max_output_tokens or settings.max_output_tokens,
            "server.address": self._endpoint.target.host,
            "lightrag.role": request.role,
        }
        return span(f"chat {settings.model}", asked, is_call=True)

    async def _ask(self, client: AsyncOpenAI, request: ChatRequest) -> ChatResponse:
        response = await self._post(client, request, cast_to=httpx2.Response)
        most = Most(rough_tokens(request), request.max_output_tokens or self._settings.max_output_tokens)
        target, prose = self._endpoint.target, request.role in _PROSE
        answered = read_completion(response.content, target, most, prose=prose)
        if answered.cache_write_tokens:
            _marks.known.setdefault(self._place, None)
        return answered

    async def _probe(self, client: AsyncOpenAI) -> None:
        bill(await self._ask(client, _PROBE))

    @property
    def _place(self) -> Place:
        return self._endpoint.target.host, self._settings.model

    async def _post(self, client: AsyncOpenAI, request: ChatRequest, **options: Any) -> Any:
        """Post a request, with marks of what to cache where they are taken; without, if they may be why it is refused.

        Models that take them are known by name, or since they say what they wrote to their cache.
        """
        post = partial(self._post_by_schema, client, request, **options)
        usual = None if _MARKED.search(self._settings.model) else False
        return await _marks.send(
            self._place, lambda marked: post(marked=marked), lambda error: error.status_code < 500, usual
        )

    async def _post_by_schema(self, client: AsyncOpenAI, request: ChatRequest, **options: Any) -> Any:
        """Post a request; its schema, if it has one, as `json_schema`, or beside `json_object` where that is taken.

        Raises:
            FailedCallError: neither is taken.
        """
        place, target = self._place, self._endpoint.target

        async def post(asked: ChatRequest, *, beside: bool = False) -> Any:
            send = partial(self._post_in_room, client, asked, beside=beside, **options)
            return await _limits.send(place, lambda usual: send(reasons=not usual), lambda error: False)

        if request.answer_schema is None:
            return await post(request)
        send = partial(_schemas.send, place, lambda named: post(request, beside=not named))
        try:
            return await send(lambda error: rule_name(error, target) == "format")
        except REFUSALS as error:
            refused = error
            if place in _schemas.known or place in _probed or rule_name(refused, target) != "any":
                raise
        # No reason is told: it is the schema, if the same passes without one, and does not pass with it after that.
        _probed.add(place)
        try:
            await post(replace(request, answer_schema=None, json_answer=False, max_output_tokens=_FEW))
        except openai.APIError:
            raise refused from None
        bill(ChatResponse("", input_tokens=rough_tokens(request), output_tokens=_FEW))
        await afford()
        try:
            return await send(lambda error: True)
        except REFUSALS:
            raise explain(refused, target, REFUSED_FORMAT) from None

    async def _post_in_room(
        self,
        client: AsyncOpenAI,
        request: ChatRequest,
        *,
        reasons: bool,
        marked: bool = False,
        beside: bool = False,
        **options: Any,
    ) -> Any:
        """Post a request; if its output tokens have no room in the model's context, once more with a quarter of them.

        So are longer ones from then on. A request for more tokens than usual is refused then: there is an answer with
        the usual number.
        """
        body = request_body(self._settings, request, marked=marked, reasons=reasons)
        usual, size = request.max_output_tokens is None, rough_tokens(request)
        parts = _PARTS if usual and size >= self._no_room else 1
        if beside:
            body["response_format"] = {"type": "json_object", "schema": request.answer_schema}
        body |= {"stream": True} if "stream" in options else {}
        limits = {name: body[name] // parts for name in _OUTPUT_LIMITS if name in body}
        try:
            return await client.post(_PATH, body=body | limits, **options)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if parts > 1 or not (usual and rule_name(error, self._endpoint.target) == "too many tokens"):
                raise
        fewer = {name: limit // _PARTS for name, limit in limits.items()}
        answered = await client.post(_PATH, body=body | fewer, **options)
        self._no_room = min(self._no_room, size)
        told = "model %s has no room for its output tokens and gets a quarter of them; lower %sMAX_OUTPUT_TOKENS"
        _log.warning(told, self._settings.model, self._endpoint.target.settings)
        return answered


def marked_by_batch(host: str, model: str) -> bool:
    """Return True for OpenAI itself, where no line of a batch is refused for its marks."""
    return host == "api.openai.com" and _MARKED.search(model) is not None


def request_body(
    settings: LLMSettings, request: ChatRequest, *, marked: bool = False, reasons: bool = False
) -> dict[str, Any]:
    """Return the body of a request to `/chat/completions`, for a call and for a line of a batch.

    In one that is `marked`, the provider caches all up to the messages that begin other requests, and nothing else. A
    model that `reasons` has its limit by another name and no temperature, as one has whose name says so.
    """
    limit = request.max_output_tokens or settings.max_output_tokens
    reasoning = reasons or reasoning_effort(settings) is not None
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": message.role, "content": _content(message, marked)} for message in request.messages],
        "max_completion_tokens" if reasoning else "max_tokens": limit,
    }
    if not reasoning:
        body["temperature"] = settings.temperature
    if settings.reasoning_effort:
        body["reasoning_effort"] = settings.reasoning_effort
    if request.answer_schema is not None:
        schema = {"name": request.role, "schema": request.answer_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.json_answer:
        body["response_format"] = {"type": "json_object"}
    body |= ({"prompt_cache_options": _BY_MARKS} if marked else {}) | settings.extra_body
    return {name: value for name, value in body.items() if value is not None}


def _content(message: Message, marked: bool) -> str | list[dict[str, Any]]:
    mark = {"prompt_cache_breakpoint": _BY_MARKS} if marked and message.begins_others else {}
    if not (message.pictures or mark):
        return message.content
    shown = [{"type": "image_url", "image_url": {"url": picture.url}} for picture in message.pictures]
    return [{"type": "text", "text": message.content} | mark, *shown]
