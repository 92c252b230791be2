"""Servers of buckets for tests, as their clients see them: what all have in common, S3 and Google's."""

import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen
from uuid import uuid4

import obstore
import pytest
from obstore.store import GCSStore, ObjectStore, S3Store

from tests.object_server import Answer, GoogleHandler, Objects, S3Handler, serving


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
    """A server in this process that counts requests and can be made to answer some of them with 503."""

    def __init__(self, url: str, objects: Objects) -> None:
        super().__init__(url)
        self._objects = objects

    @property
    def requests(self) -> Counter[str]:
        """The number of requests by method."""
        return self._objects.requests

    @property
    def failing(self) -> Answer:
        """Which requests get a 503."""
        return self._objects.failing

    @failing.setter
    def failing(self, answer: Answer) -> None:
        self._objects.failing = answer

    def reset(self) -> None:
        """Forget requests and faults."""
        self._objects.reset()


class GoogleService(BucketService):
    """A server of Google Cloud Storage's interface, in this process."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._key = json.dumps(
            {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which clients find the server."""
        return {"GOOGLE_SERVICE_ACCOUNT_KEY": self._key, "GOOGLE_ALLOW_HTTP": "true"}

    def new_bucket(self) -> str:
        """Return the URI of a home in a bucket of its own."""
        return f"gs://test-{uuid4().hex}/some/home"

    def store(self, uri: str) -> GCSStore:
        """Open the objects of a home as a bystander."""
        return GCSStore.from_url(uri, service_account_key=self._key, client_options={"allow_http": True})


@contextmanager
def serving_buckets() -> Iterator[S3Server]:
    """Run a server of S3 for the block."""
    with serving(S3Handler) as (url, objects):
        yield S3Server(url, objects)


@contextmanager
def serving_google() -> Iterator[GoogleService]:
    """Run a server of Google Cloud Storage for the block."""
    with serving(GoogleHandler) as (url, _):
        yield GoogleService(url)


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
