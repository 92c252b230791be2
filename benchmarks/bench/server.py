"""The OpenAI-compatible server on 127.0.0.1 that both systems ask, in a process of its own, and what it counted."""

import argparse
import asyncio
import base64
import json
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchmarks.bench import ROOT
from benchmarks.bench.corpus import Passage, edited, passage
from benchmarks.bench.embedding import embed
from benchmarks.bench.prefixes import Prefixes, parts_of
from benchmarks.bench.responses import Responses, UnknownRequestError
from benchmarks.bench.results import COUNTS
from lightrag_dagster.core.text.encodings import load_encoding


class Server:
    """The running server, and the counts since it was asked last."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._before: Counter[str] = Counter()

    def counts(self) -> dict[str, int]:
        """Return what was counted since the last call."""
        now: Counter[str] = Counter(self._get("counts"))
        since = {name: now[name] - self._before[name] for name in COUNTS}
        self._before = now
        return since

    def forget(self) -> None:
        """Forget the prompts that came so far, so that none is a cached one."""
        self._get("forget")

    def _get(self, name: str) -> dict[str, int]:
        # Not urllib, which would ask a proxy that the environment names.
        with closing(HTTPConnection(urlsplit(self.url).netloc)) as connection:
            connection.request("GET", f"/v1/{name}")
            answer: dict[str, int] = json.load(connection.getresponse())
        return answer


@contextmanager
def serving(passages: int, dimensions: int, latency: float = 0.0) -> Iterator[Server]:
    """Run the server for the block; it knows this many passages, each as it is and edited.

    A response comes after `latency` seconds.
    """
    command = [sys.executable, "-m", "benchmarks.bench.server", str(passages), str(dimensions), str(latency)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if not (url := process.stdout.readline().strip()):
            raise RuntimeError("the server did not start; above is why")
        # It ends when its input does, which leaving the block closes.
        yield Server(url)


class _Application:
    """The endpoints."""

    def __init__(self, passages: Iterable[Passage], dimensions: int, latency: float) -> None:
        self._responses, self._dimensions, self._latency = Responses(passages), dimensions, latency
        self._counted: Counter[str] = Counter()
        encoding = load_encoding("o200k_base")
        # Instructions come again with every request.
        self._tokens = lru_cache(maxsize=256)(encoding.encode_ordinary)
        self._prefixes = Prefixes()

    def routes(self) -> list[Route]:
        return [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            Route("/v1/counts", self._counts),
            Route("/v1/forget", self._forget),
        ]

    async def _chat(self, request: Request) -> JSONResponse:
        body = await request.json()
        try:
            kind, text = self._responses.answer(body["messages"])
        except UnknownRequestError as error:
            return JSONResponse({"error": {"message": str(error)}}, 400)
        parts = list(parts_of(body["messages"], self._tokens))
        read, written = sum(len(part.tokens) for part in parts), len(self._tokens(text))
        self._counted.update({kind: 1, "input_tokens": read, "output_tokens": written})
        explicit = body.get("prompt_cache_options", {}).get("mode") == "explicit"
        for rule, counted in self._prefixes.add(parts, explicit=explicit).items():
            self._counted.update({f"cached_{rule}": counted.read, f"written_{rule}": counted.written})
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        return await self._late({"object": "chat.completion", "choices": choices, "usage": usage}, body)

    async def _embeddings(self, request: Request) -> JSONResponse:
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = [embed(text, self._dimensions) for text in texts]
        packed = body.get("encoding_format") == "base64"
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(vector.tobytes()).decode() if packed else vector.tolist(),
            }
            for index, vector in enumerate(vectors)
        ]
        read = sum(len(self._tokens(text)) for text in texts)
        self._counted.update({"embed": 1, "texts": len(texts), "embedded_tokens": read})
        usage = {"prompt_tokens": read, "total_tokens": read}
        return await self._late({"object": "list", "data": data, "usage": usage}, body)

    async def _late(self, response: dict[str, Any], body: dict[str, Any]) -> JSONResponse:
        await asyncio.sleep(self._latency)
        return JSONResponse({"id": "recorded", "created": 1, "model": body["model"], **response})

    async def _counts(self, request: Request) -> JSONResponse:
        return JSONResponse(self._counted)

    async def _forget(self, request: Request) -> JSONResponse:
        self._prefixes = Prefixes()
        return JSONResponse({})


def main() -> None:
    """Serve until the standard input ends; the first line of the output is the URL."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("passages", type=int)
    parser.add_argument("dimensions", type=int)
    parser.add_argument("latency", type=float)
    given = parser.parse_args()
    known = [version for index in range(given.passages) for version in (passage(index), edited(index))]
    application = Starlette(routes=_Application(known, given.dimensions, given.latency).routes())
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="off", ws="none"))
        threading.Thread(target=_end, args=[server], daemon=True).start()
        server.run(sockets=[listener])


def _end(server: uvicorn.Server) -> None:
    """End the server when its input ends, however the process ended that started it."""
    sys.stdin.read()
    server.should_exit = True


if __name__ == "__main__":
    main()
