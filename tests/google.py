"""Google Cloud Storage for tests: a server on loopback that speaks what obstore and LanceDB ask of its XML interface.

No emulator has all of it: Google's own testbench lists and removes objects by the JSON interface only. This one is
written after the reference of the XML interface: objects with generations, `x-goog-if-generation-match`, ranges, pages
of a listing, copies, and uploads in parts.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4
from xml.sax.saxutils import escape

from obstore.store import GCSStore

from tests.buckets import BucketService

_MOST_KEYS = 1000
_WHOLE, _PART, _MISSING, _FAILED, _BAD_RANGE = 200, 206, 404, 412, 416


class Stored(NamedTuple):
    """One generation of an object."""

    content: bytes
    generation: int
    modified: datetime

    @property
    def headers(self) -> dict[str, str]:
        """What an answer about it says."""
        return {
            "ETag": f'"{self.generation:x}"',
            "x-goog-generation": str(self.generation),
            "Last-Modified": format_datetime(self.modified, usegmt=True),
        }


class GoogleService(BucketService):
    """The server, whose buckets exist as soon as they are named."""

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
def serving_google() -> Iterator[GoogleService]:
    """Run the server for the block."""
    state = {"objects": {}, "uploads": {}, "generations": count(1), "lock": Lock()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), state))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield GoogleService(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers about the objects of one server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    objects: dict[str, Stored]  # by bucket/key
    uploads: dict[str, dict[int, bytes]]  # parts by number, by upload
    generations: "count[int]"
    lock: Lock

    def do_GET(self) -> None:
        path, asked = self._asked()
        if "/" not in path:
            return self._list(path, asked)
        found = self.objects.get(path)
        if found is None:
            return self._answer(_MISSING)
        given = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if given is None:
            return self._answer(_WHOLE, found.content, found.headers)
        size, (first, last) = len(found.content), given.groups()
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if start >= size:
            return self._answer(_BAD_RANGE)
        span = {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
        return self._answer(_PART, found.content[start:end], found.headers | span)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def do_PUT(self) -> None:
        path, asked = self._asked()
        content = self._body()
        if "uploadId" in asked:
            self.uploads[asked["uploadId"]][int(asked["partNumber"])] = content
            return self._answer(_WHOLE, headers={"ETag": f'"{asked["partNumber"]}"'})
        source = self.headers.get("x-goog-copy-source")
        if source is not None:
            copied = self.objects.get(unquote(source).lstrip("/"))
            if copied is None:
                return self._answer(_MISSING)
            content = copied.content
        return self._store(path, content, "<CopyObjectResult/>" if source else "")

    def do_POST(self) -> None:
        path, asked = self._asked()
        body = self._body()
        if "uploads" in asked:
            upload = uuid4().hex
            self.uploads[upload] = {}
            return self._answer(_WHOLE, _xml("InitiateMultipartUploadResult", UploadId=upload))
        parts = self.uploads.pop(asked["uploadId"])
        numbers = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        content = b"".join(parts[number] for number in numbers)
        return self._store(path, content, _xml("CompleteMultipartUploadResult", ETag="parts"))

    def do_DELETE(self) -> None:
        path, asked = self._asked()
        if "uploadId" in asked:
            return self._answer(204 if self.uploads.pop(asked["uploadId"], None) is not None else _MISSING)
        with self.lock:
            found = self.objects.pop(path, None)
        return self._answer(204 if found else _MISSING)

    def _store(self, path: str, content: bytes, body: str) -> None:
        """Make the next generation, unless another one than the expected is there; 0 expects none."""
        expected = self.headers.get("x-goog-if-generation-match")
        with self.lock:
            found = self.objects.get(path)
            if expected is not None and int(expected) != (found.generation if found else 0):
                stored = None
            else:
                stored = self.objects[path] = Stored(content, next(self.generations), datetime.now(UTC))
        return self._answer(_WHOLE, body, stored.headers) if stored else self._answer(_FAILED)

    def _list(self, bucket: str, asked: dict[str, str]) -> None:
        """Answer with a page of keys and common prefixes, in order; the token is the last of the page before."""
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        after = asked.get("continuation-token", asked.get("start-after", ""))
        with self.lock:
            own = {key: one for key, one in self.objects.items() if key.startswith(f"{bucket}/")}
        stored = {key.removeprefix(f"{bucket}/"): one for key, one in own.items()}
        items: dict[str, str] = {}
        for key in sorted(key for key in stored if key.startswith(prefix)):
            head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            name = prefix + head + cut if cut else key
            if name > after:
                items[name] = _common(name) if cut else _contents(key, stored[key])
        page = list(items)[: int(asked.get("max-keys", _MOST_KEYS))]
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(page) < len(items) else ""
        body = f"<ListBucketResult>{''.join(items[name] for name in page)}{more}</ListBucketResult>"
        return self._answer(_WHOLE, body)

    def _asked(self) -> tuple[str, dict[str, str]]:
        """Return bucket or bucket/key, and the parameters."""
        asked = urlsplit(self.path)
        parameters = parse_qs(asked.query, keep_blank_values=True)
        return unquote(asked.path).lstrip("/"), {name: values[0] for name, values in parameters.items()}

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, body: bytes | str = b"", headers: dict[str, str] | None = None) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep the output of the tests clean."""


def _contents(key: str, stored: Stored) -> str:
    size, modified = str(len(stored.content)), stored.modified.isoformat().replace("+00:00", "Z")
    return _xml("Contents", Key=escape(key), Size=size, LastModified=modified, ETag=stored.headers["ETag"])


def _common(prefix: str) -> str:
    return _xml("CommonPrefixes", Prefix=escape(prefix))


def _xml(name: str, **fields: str) -> str:
    return f"<{name}>{''.join(f'<{key}>{value}</{key}>' for key, value in fields.items())}</{name}>"
