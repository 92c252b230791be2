"""A chat on 127.0.0.1 that takes messages by an incoming webhook, with the rules of Slack's."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Chat(HTTPServer):
    """The server, and every message that arrived, also those that it refused."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.messages: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """Address of the webhook; any other is refused."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        try:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        except ValueError:
            return self._reply(400, "invalid_payload")
        self.server.messages.append(message)
        if self.path != "/hook":
            return self._reply(404, "no_service")
        return self._reply(200, "ok") if message.get("text") else self._reply(400, "no_text")

    def _reply(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments: object) -> None: ...


@contextmanager
def serving_chat() -> Iterator[Chat]:
    """Serve a chat for the block."""
    with Chat() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
