"""An OpenAI-compatible server on 127.0.0.1 that answers by rules."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.core.roles import Role
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.stages.prompts.fencing import last_fenced

_DIMENSIONS = 256


@contextmanager
def offline_provider() -> Iterator[str]:
    """Serve chat completions and embeddings on a free port of 127.0.0.1, and yield the address.

        with offline_provider() as address:
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            monkeypatch.setenv("OPENAI_API_KEY", "none")

    It answers requests for extraction, summaries, keywords and answers, with the prompts of this package, always in the
    same way. The bound is what the rules of the provider `offline` can do.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        serving = threading.Thread(target=server.serve_forever, name="lightrag-offline-provider", daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            serving.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answers = {"/v1/chat/completions": _completion, "/v1/embeddings": _embeddings}
        made = answers[self.path](body) if self.path in answers else None
        reply = json.dumps(made or {"error": {"message": f"{self.path} is not served here"}}).encode()
        self.send_response(200 if made else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
    answer = asyncio.run(OfflineChatModel().complete(ChatRequest(_role(messages), messages))).text
    asked, answered = sum(len(message.content) for message in messages) // 4, len(answer) // 4
    return {
        "id": "offline",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}],
        "usage": {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered},
    }


def _role(messages: tuple[Message, ...]) -> Role:
    """Tell the purpose of a request by the words that only its prompt has."""
    text = "\n".join(message.content for message in messages)
    if "<|COMPLETE|>" in messages[0].content:
        return "extract"
    if "high_level_keywords" in text:
        return "keywords"
    return "summarise" if last_fenced(messages[-1].content) is not None else "answer"


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = asyncio.run(LexicalEmbedder(body.get("dimensions") or _DIMENSIONS).embed_documents(texts))

    def encoded(vector: np.ndarray[Any, np.dtype[np.float32]]) -> object:
        if body.get("encoding_format") != "base64":
            return vector.tolist()
        return base64.b64encode(vector.astype(np.float32).tobytes()).decode()

    return {
        "object": "list",
        "model": body["model"],
        "data": [
            {"object": "embedding", "index": place, "embedding": encoded(one)} for place, one in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": sum(map(len, texts)) // 4, "total_tokens": sum(map(len, texts)) // 4},
    }
