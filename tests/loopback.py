"""An OpenAI-compatible server on 127.0.0.1, for tests that run the real client against it.

`chat` and `embed` answer; `script` or `fault` may reply instead. Everything that arrives is recorded.
"""

import asyncio
import base64
import hashlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.loopback_batches import BatchServer

END_MARK = "<|COMPLETE|>"
BASES = ("/v1", "/openai/v1", "/v1beta/openai", "/api/v1")
"""Paths of addresses that providers give."""


@dataclass(frozen=True)
class Received:
    """A request that arrived, and when. Seconds of the monotonic clock."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    arrived: float
    query: str = ""


@dataclass(frozen=True)
class Reply:
    """A reply in place of the usual one: a fault, mostly. The parts of a tuple of bytes are sent one by one."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0

    @classmethod
    def error(cls, status: int, code: str | None = None, message: str = "no", **headers: str) -> "Reply":
        """Reply as OpenAI does when it refuses; underscores in header names stand for hyphens."""
        body = {"error": {"message": message, "type": code, "code": code, "param": None}}
        return cls(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    @classmethod
    def html(cls, content_type: str) -> "Reply":
        """Reply with a web page and status 200, as a proxy might."""
        return cls(200, b"<html>Welcome</html>", {"content-type": content_type})

    @classmethod
    def broken(cls) -> "Reply":
        """Close the connection in the middle of the reply."""
        return cls(200, b"{", {"content-type": "application/json", "content-length": "1000"})

    @classmethod
    def dripping(cls, pause: float) -> "Reply":
        """Send a reply byte by byte, so many seconds apart, as a stuck proxy might."""
        return cls(200, b" " * 1000, {"content-type": "application/json"}, pause=pause)

    def response(self) -> Response:
        if isinstance(self.body, tuple) or (isinstance(self.body, bytes) and self.pause):
            return StreamingResponse(self._drops(self.body), self.status, dict(self.headers))
        if isinstance(self.body, bytes):
            return Response(self.body, self.status, dict(self.headers))
        # Not JSONResponse, which refuses NaN; some servers do not.
        return Response(json.dumps(self.body), self.status, {"content-type": "application/json", **self.headers})

    async def _drops(self, body: bytes | tuple[bytes, ...]) -> AsyncIterator[bytes]:
        for drop in body:
            yield drop if isinstance(drop, bytes) else bytes([drop])
            await asyncio.sleep(self.pause)


@dataclass(frozen=True)
class Answer:
    """A chat answer with all that a test may want to set."""

    text: str | None
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: Mapping[str, Any] = field(
        default_factory=lambda: {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64},
        }
    )


def _complete(body: dict[str, Any]) -> str | Answer:
    return END_MARK


def _embed(text: str, dimensions: int) -> list[float]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return [float(value) for value in np.random.default_rng(seed).normal(size=dimensions)]


class Loopback:
    """The server: what it answers, what it received, and the seconds that all requests were open, added up."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.host = f"127.0.0.1:{port}"
        self.open = 0
        self.batches = BatchServer(lambda body: self._completion(body))
        self.application = Starlette(
            routes=[
                *(Route(f"{at}/chat/completions", self._served(self._chat), methods=["POST"]) for at in BASES),
                *(Route(f"{at}/embeddings", self._served(self._embeddings), methods=["POST"]) for at in BASES),
                Route("/v1/models", self._served(self._models), methods=["GET"]),
                *self.batches.routes(self._served_raw),
            ]
        )
        self.reset()

    def reset(self) -> None:
        """Forget requests and behaviour."""
        self.batches.reset()
        self.marks: Literal["taken", "ignored", "refused"] = "ignored"
        self.schemas: Literal["taken", "beside", "refused"] = "taken"
        self.count: Callable[[str], int] = lambda text: len(text.split())
        self.cache: set[str] = set()
        self.requests: list[Received] = []
        self.chat: Callable[[dict[str, Any]], str | Answer] = _complete
        self.embed: Callable[[str, int], list[float]] = _embed
        self.dimensions = 8
        self.base64: Literal["spoken", "ignored", "refused"] = "spoken"
        self.delay = 0.0
        self.script: deque[Reply] = deque()
        self.fault: Callable[[Received], Reply | None] = lambda received: None
        self.peak = 0
        self.busy = 0.0

    def _served(self, answer: Callable[[dict[str, Any]], Response]) -> Callable[[Request], Any]:
        """Do as `_served_raw`, for a request whose body is JSON."""
        return self._served_raw(lambda request, data: answer(json.loads(data) if data else {}))

    def _served_raw(self, answer: Callable[[Request, bytes], Response]) -> Callable[[Request], Any]:
        """Record the request, then reply by script, fault or `answer`, whichever comes first."""

        async def endpoint(request: Request) -> Response:
            data = await request.body()
            readable = data and request.headers.get("content-type") == "application/json"
            received = Received(
                request.url.path,
                json.loads(data) if readable else {},
                dict(request.headers),
                time.monotonic(),
                request.url.query,
            )
            of_this_test = self.requests
            of_this_test.append(received)
            self.open += 1
            self.peak = max(self.peak, self.open)
            try:
                reply = self.script.popleft() if self.script else self.fault(received)
                await asyncio.sleep(reply.delay if reply else self.delay)
                if of_this_test is not self.requests:  # given up by a test before, whose answer the next would miss
                    return Response(status_code=503)
                return reply.response() if reply else answer(request, data)
            finally:
                self.open -= 1
                self.busy += time.monotonic() - received.arrived

        return endpoint

    def _chat(self, body: dict[str, Any]) -> Response:
        if self.marks == "refused" and "prompt_cache_" in json.dumps(body):
            return Reply.error(400, "unknown_parameter", "Unknown parameter: 'prompt_cache_options'").response()
        refused = {"taken": (), "beside": ("json_schema",), "refused": ("json_schema", "json_object")}[self.schemas]
        if body.get("response_format", {}).get("type") in refused:  # as llama-cpp-python says it
            return Reply.error(500, message="{'loc': ('body', 'response_format', 'type')}").response()
        if body.get("stream"):
            pieces = _pieces(_head(body), _answer(self.chat(_without_marks(body))), body)
            return StreamingResponse(pieces, media_type="text/event-stream")
        return Reply(body=self._completion(body)).response()

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = _answer(self.chat(_without_marks(body)))
        message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
        choice = {"index": 0, "finish_reason": answer.finish_reason, "message": message, "logprobs": None}
        usage = {**answer.usage, **self._cached(body)} if self.marks == "taken" else answer.usage
        return _head(body) | {"object": "chat.completion", "choices": [choice], "usage": usage}

    def _cached(self, body: dict[str, Any]) -> dict[str, Any]:
        """Count tokens; cache what stands before each mark, or all where marks are not said to be explicit.

        What is known up to a mark is read, and what follows up to the last one is written.
        """
        explicit = body.get("prompt_cache_options") == {"mode": "explicit"}
        seen, marks = "", list[str]()
        for message in body["messages"]:
            parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
            for part in parts:
                seen += f"{message['role']} {part['text']} "
                marks += [seen] if part.get("prompt_cache_breakpoint") == {"mode": "explicit"} else []
        marks += [] if explicit else [seen]
        read = max((self.count(mark) for mark in marks if mark in self.cache), default=0)
        written = max(map(self.count, marks), default=0) - read
        self.cache |= set(marks)
        details = {"cached_tokens": read, "cache_write_tokens": written}
        return {"prompt_tokens": self.count(seen), "prompt_tokens_details": details}

    def _embeddings(self, body: dict[str, Any]) -> Response:
        packed = body.get("encoding_format") == "base64"
        if packed and self.base64 == "refused":
            return Reply.error(400, message="encoding_format must be float").response()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = []
        for index, text in enumerate(texts):
            vector: object = self.embed(text, body.get("dimensions", self.dimensions))
            if packed and self.base64 == "spoken":
                vector = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        usage = {"prompt_tokens": sum(len(text.split()) for text in texts), "total_tokens": 0}
        # Last first: a client must go by the index.
        return JSONResponse({"object": "list", "model": body["model"], "data": data[::-1], "usage": usage})

    def _models(self, body: dict[str, Any]) -> Response:
        model = {"id": "test-model", "object": "model", "created": 1, "owned_by": "tests"}
        return JSONResponse({"object": "list", "data": [model]})


def _without_marks(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request with texts in place of lists that hold nothing else, which are there for a mark."""
    contents = [message["content"] for message in body["messages"]]
    texts = [
        one[0]["text"] if isinstance(one, list) and len(one) == 1 and "text" in one[0] else one for one in contents
    ]
    return body | {"messages": [one | {"content": text} for one, text in zip(body["messages"], texts, strict=True)]}


def _answer(made: str | Answer) -> Answer:
    return made if isinstance(made, Answer) else Answer(made)


def _head(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 1, "model": body["model"]}


async def _pieces(head: dict[str, Any], answer: Answer, body: dict[str, Any]) -> AsyncIterator[str]:
    """Send an answer word by word, then its end, then usage if it was asked for."""
    event = head | {"object": "chat.completion.chunk"}
    for word in (answer.text or "").split(" "):
        choice = {"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}
        yield f"data: {json.dumps(event | {'choices': [choice]})}\n\n"
    end = {"index": 0, "delta": {}, "finish_reason": answer.finish_reason}
    yield f"data: {json.dumps(event | {'choices': [end]})}\n\n"
    if (body.get("stream_options") or {}).get("include_usage"):
        yield f"data: {json.dumps(event | {'choices': [], 'usage': answer.usage})}\n\n"
    yield "data: [DONE]\n\n"


@contextmanager
def serving() -> Iterator[Loopback]:
    """Run the server in a thread for the block."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        loopback = Loopback(listener.getsockname()[1])
        # A connection that a busy machine leaves idle for five seconds would be closed as the next request is sent.
        config = uvicorn.Config(
            loopback.application, log_level="critical", lifespan="off", ws="none", timeout_keep_alive=60
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            if time.monotonic() > deadline:
                raise TimeoutError("the loopback server did not start within 20 s")
            time.sleep(0.01)
        try:
            yield loopback
        finally:
            server.should_exit = True
            thread.join(timeout=20)


def unused_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
