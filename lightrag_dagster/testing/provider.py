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
from lightrag_dagster.errors import LightRAGError, one_line
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.offline import LexicalEmbedder
from lightrag_dagster.stages.prompts.fencing import last_fenced

_DIMENSIONS = 256
_FIRST_STAYS = '{"order": [1]}'
"""The answer to a reranker's question: the order is as it was."""


@contextmanager
def offline_provider() -> Iterator[str]:
    """Serve chat completions and embeddings on a free port of 127.0.0.1, and yield the address.

        with offline_provider() as address:
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            monkeypatch.setenv("OPENAI_API_KEY", "none")

    Settings with a `base_url` need it there instead: `LIGHTRAG_LLM__BASE_URL`, `LIGHTRAG_EMBEDDING__BASE_URL`. It
    answers requests for extraction, summaries, keywords and answers, with the prompts of this package, always in the
    same way, and leaves the order of a reranker. Others, such as those to judge or to draft, get an error, `no_rule`.
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
        status, made = _reply(self.path, self.rfile.read(int(self.headers.get("content-length") or 0)))
        kind, text = "application/json", json.dumps(made)
        if isinstance(made, list):
            events = [*map(json.dumps, made), "[DONE]"]
            kind, text = "text/event-stream", "".join(f"data: {event}\n\n" for event in events)
        reply = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _reply(path: str, sent: bytes) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
    """Return status and body of the reply to a request; of one for a stream, its pieces."""
    answers = {"/v1/chat/completions": _completion, "/v1/embeddings": _embeddings}
    if path not in answers:
        return 404, {"error": {"message": f"{path} is not served here"}}
    try:
        made = answers[path](json.loads(sent))
        return 400 if "error" in made else 200, made
    except (AttributeError, IndexError, KeyError, LightRAGError, TypeError, ValueError) as error:
        return 400, {"error": {"message": f"the request cannot be used: {one_line(error)}"}}


def _completion(body: dict[str, Any]) -> dict[str, Any] | list[dict[str, Any]]:
    messages = tuple(Message(message["role"], _text(message["content"])) for message in body["messages"])
    asked = messages[-1].content
    if asked.startswith("Question:\n\n") and "\n\nPassages:\n\n" in asked:
        answer = _FIRST_STAYS
    else:
        answer = asyncio.run(OfflineChatModel().complete(ChatRequest(_role(messages), messages))).text
    if not answer:  # such a request was taken for one to summarise
        return {"error": {"message": "the rules have none for this request", "code": "no_rule"}}
    sent = sum(len(message.content) for message in messages) // 4
    answered = len(answer) // 4
    usage = {"prompt_tokens": sent, "completion_tokens": answered, "total_tokens": sent + answered}
    made = {"id": "offline", "object": "chat.completion", "created": 0, "model": body["model"]}
    if not body.get("stream"):
        said = {"role": "assistant", "content": answer}
        return made | {"choices": [{"index": 0, "finish_reason": "stop", "message": said}], "usage": usage}
    made["object"] = "chat.completion.chunk"
    deltas = [*({"content": line} for line in answer.splitlines(keepends=True)), {}]
    choices = [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"} for delta in deltas]
    pieces = [made | {"choices": [choice]} for choice in choices]
    counts = (body.get("stream_options") or {}).get("include_usage")
    return [*pieces, made | {"choices": [], "usage": usage}] if counts else pieces


def _text(content: str | list[dict[str, str]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content if "text" in part)


def _role(messages: tuple[Message, ...]) -> Role:
    """Tell the purpose of a request by the words that only its prompt has."""
    text = "\n".join(message.content for message in messages)
    if "<|COMPLETE|>" in messages[0].content:
        return "extract"
    if "high_level_keywords" in text:
        return "keywords"
    return "summarise" if last_fenced(messages[-1].content) is not None else "answer"


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
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
