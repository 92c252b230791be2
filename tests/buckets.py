"""Servers of buckets for tests: what all have in common, and moto's S3, on loopback and in a thread.

All of them honour conditions.
"""

import logging
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import ObjectStore, S3Store

Answer = Callable[[dict[str, Any]], bool]


class BucketService(ABC):
    """A server that runs somewhere."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    @abstractmethod
    def environment(self) -> dict[str, str]:
        """The variables by which clients find the server."""

    def reset(self) -> None:  # noqa: B027 - most can be put into no state
        """Forget what a test did to the server; buckets stay, for nobody gets the same one again."""

    @abstractmethod
    def new_bucket(self) -> str:
        """Return the URI of a home that nobody else uses."""

    @abstractmethod
    def store(self, uri: str) -> ObjectStore:
        """Open the objects of a home as a bystander."""

    def keys(self, uri: str) -> list[str]:
        """Return the keys below a home."""
        return sorted(meta["path"] for block in obstore.list(self.store(uri)) for meta in block)


class S3Service(BucketService):
    """A server of S3; tests have a bucket each, or share one."""

    def __init__(self, url: str, bucket: str | None = None) -> None:
        super().__init__(url)
        self._bucket = bucket

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
        """Make a bucket, unless all tests share one, and return the URI of a home in it."""
        name = f"test-{uuid4().hex}"
        if self._bucket is not None:
            obstore.put(self.store(f"s3://{self._bucket}"), "made", b"")  # which makes the bucket
            return f"s3://{self._bucket}/{name}/home"
        with urlopen(Request(f"{self.url}/{name}", method="PUT")):
            pass
        return f"s3://{name}/some/home"

    def store(self, uri: str) -> S3Store:
        """Open the objects of a home as a bystander."""
        return S3Store.from_url(
            uri,
            endpoint=self.url,
            access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
            region="us-east-1",
            client_options={"allow_http": True},
        )


class S3Server(S3Service):
    """A server in this process, moto's, that counts requests and can be made to answer some of them with 503."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        super().__init__(f"http://{host}:{port}")
        self.reset()
        served = self._server._server.app

        def counted(environ: dict[str, Any], start_response: Any) -> Any:
            self.requests[environ["REQUEST_METHOD"]] += 1
            if self.failing(environ):
                length = int(environ.get("CONTENT_LENGTH") or 0)
                environ["wsgi.input"].read(length)
                start_response("503 Slow Down", [("Content-Length", "0")])
                return []
            return served(environ, start_response)

        self._server._server.app = counted

    def reset(self) -> None:
        """Forget requests and faults."""
        self.requests: Counter[str] = Counter()
        self.failing: Answer = lambda environ: False

    def stop(self) -> None:
        """Stop the server."""
        self._server.stop()


@contextmanager
def serving_buckets() -> Iterator[S3Server]:
    """Run moto's server for the block."""
    server = S3Server()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def pointing_to_buckets(service: BucketService) -> Iterator[None]:
    """Point the environment to a server, as good as new, for the block."""
    service.reset()
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_"))]:
            monkeypatch.delenv(name)
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        yield
