"""An S3 server for tests, moto's, on loopback and in a thread; it honours conditions on requests."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

Answer = Callable[[dict[str, Any]], bool]


class S3Server:
    """A server that counts requests and can be made to answer some of them with 503."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        self.requests: Counter[str] = Counter()
        self.failing: Answer = lambda environ: False
        served = self._server._server.app  # type: ignore[union-attr]

        def counted(environ: dict[str, Any], start_response: Any) -> Any:
            self.requests[environ["REQUEST_METHOD"]] += 1
            if self.failing(environ):
                length = int(environ.get("CONTENT_LENGTH") or 0)
                environ["wsgi.input"].read(length)
                start_response("503 Slow Down", [("Content-Length", "0")])
                return []
            return served(environ, start_response)

        self._server._server.app = counted  # type: ignore[union-attr]

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which clients find the server."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "secret-word",
            "AWS_REGION": "us-east-1",
        }

    def new_bucket(self) -> str:
        """Make a bucket and return the URI of a home in it."""
        from urllib.request import Request, urlopen

        name = f"test-{uuid4().hex}"
        with urlopen(Request(f"{self.url}/{name}", method="PUT")):
            pass
        return f"s3://{name}/some/home"

    def store(self, uri: str) -> S3Store:
        """Open the objects of a home as a bystander."""
        return S3Store.from_url(
            uri,
            endpoint=self.url,
            access_key_id="other",
            secret_access_key="other",
            region="us-east-1",
            client_options={"allow_http": True},
        )

    def keys(self, uri: str) -> list[str]:
        """Return the keys below a home."""
        return sorted(meta["path"] for block in obstore.list(self.store(uri)) for meta in block)

    def stop(self) -> None:
        """Stop the server."""
        self._server.stop()


@contextmanager
def serving_buckets() -> Iterator[S3Server]:
    """Run a server for the block, and point the environment to it."""
    server = S3Server()
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        try:
            yield server
        finally:
            server.stop()
