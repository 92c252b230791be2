"""Servers of buckets for tests, on loopback and in threads: what obstore and LanceDB ask of S3 and of Google's.

Written after the references of S3 and of the XML interface of Google Cloud Storage, which has much in common with it:
objects that are replaced on conditions (`If-Match`, `If-None-Match`, `x-goog-if-generation-match`), ranges, pages of a
listing, copies, and uploads in parts. A request takes half a millisecond, a tenth of what a general emulator needs; no
emulator has all of Google's. What a real store does is tried by SeaweedFS, in tests that are `long`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4
from xml.sax.saxutils import escape, unescape

_MOST_KEYS = 1000
_WHOLE, _GONE, _PART, _MISSING, _FAILED, _BAD_RANGE = 200, 204, 206, 404, 412, 416

Answer = Callable[[dict[str, str]], bool]
"""A request, by the names of WSGI → whether it gets a 503."""


class Stored(NamedTuple):
    """One generation of an object."""

    content: bytes
    tag: str
    generation: int
    modified: datetime

    @property
    def headers(self) -> dict[str, str]:
        """What an answer about it says."""
        return {
            "ETag": f'"{self.tag}"',
            "x-goog-generation": str(self.generation),
            "Last-Modified": format_datetime(self.modified, usegmt=True),
        }


class Objects:
    """What a server holds, what it was asked, and which requests it refuses."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.generations = count(1)
        self.buckets: set[str] = set()
        self.stored: dict[str, Stored] = {}  # by bucket/key
        self.uploads: dict[str, dict[int, bytes]] = {}  # parts by number, by upload
        self.reset()

    def reset(self) -> None:
        """Forget requests and faults; objects stay."""
        self.requests: Counter[str] = Counter()
        self.failing: Answer = lambda environ: False


@contextmanager
def serving(handler: "type[Handler]") -> Iterator[tuple[str, Objects]]:
    """Run a server for the block; give its URL and what it holds."""
    objects = Objects()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (handler,), {"objects": objects}))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", objects
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers about the objects of one server, as all servers do."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    objects: Objects
    copy_source: str  # the name of a header

    def fails_condition(self, found: Stored | None) -> bool:
        """Say whether the request expects another generation of an object than there is."""
        raise NotImplementedError

    def parse_request(self) -> bool:
        """Read the head and the body, and answer here if it is to fail."""
        if not super().parse_request():
            return False
        asked = urlsplit(self.path)
        self.asked = unquote(asked.path).lstrip("/")
        given = parse_qs(asked.query, keep_blank_values=True)
        self.parameters = {name: values[0] for name, values in given.items()}
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.objects.requests[self.command] += 1
        environ = {
            "REQUEST_METHOD": self.command,
            "PATH_INFO": unquote(asked.path),
            "QUERY_STRING": asked.query,
            "REMOTE_PORT": str(self.client_address[1]),
        }
        if self.objects.failing(environ):
            self.answer(503)
            return False
        return True

    def do_GET(self) -> None:
        if "/" not in self.asked:
            return self.list_bucket()
        found = self.objects.stored.get(self.asked)
        if found is None:
            return self.answer(_MISSING)
        given = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if given is None:
            return self.answer(_WHOLE, found.content, found.headers)
        size, (first, last) = len(found.content), given.groups()
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if start >= size:
            return self.answer(_BAD_RANGE)
        span = {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
        return self.answer(_PART, found.content[start:end], found.headers | span)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def do_PUT(self) -> None:
        if "uploadId" in self.parameters:
            number = self.parameters["partNumber"]
            self.objects.uploads[self.parameters["uploadId"]][int(number)] = self.body
            return self.answer(_WHOLE, headers={"ETag": f'"{number}"'})
        source = self.headers.get(self.copy_source)
        if source is None:
            return self.store(self.body)
        copied = self.objects.stored.get(unquote(source).lstrip("/"))
        if copied is None:
            return self.answer(_MISSING)
        return self.store(copied.content, _xml("CopyObjectResult", ETag=copied.tag))

    def do_POST(self) -> None:
        if "uploads" in self.parameters:
            upload = uuid4().hex
            self.objects.uploads[upload] = {}
            return self.answer(_WHOLE, _xml("InitiateMultipartUploadResult", UploadId=upload))
        parts = self.objects.uploads.pop(self.parameters["uploadId"])
        numbers = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", self.body)]
        content = b"".join(parts[number] for number in numbers)
        return self.store(content, _xml("CompleteMultipartUploadResult", ETag="parts"))

    def do_DELETE(self) -> None:
        if "uploadId" in self.parameters:
            known = self.objects.uploads.pop(self.parameters["uploadId"], None) is not None
        else:
            known = self.remove(self.asked)
        return self.answer(_GONE if known else _MISSING)

    def store(self, content: bytes, body: str = "") -> None:
        """Make the next generation, unless another one than the expected is there."""
        tag = md5(content, usedforsecurity=False).hexdigest()
        with self.objects.lock:
            stored = None
            if not self.fails_condition(self.objects.stored.get(self.asked)):
                stored = Stored(content, tag, next(self.objects.generations), datetime.now(UTC).replace(microsecond=0))
                self.objects.stored[self.asked] = stored
        return self.answer(_WHOLE, body, stored.headers) if stored else self.answer(_FAILED)

    def remove(self, path: str) -> bool:
        """Remove an object; say whether it was there."""
        with self.objects.lock:
            return self.objects.stored.pop(path, None) is not None

    def list_bucket(self) -> None:
        """Answer with a page of keys and common prefixes, in order; the token is the last of the page before."""
        bucket, asked = f"{self.asked}/", self.parameters
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        after = asked.get("continuation-token", asked.get("start-after", ""))
        with self.objects.lock:
            stored = {key[len(bucket) :]: one for key, one in self.objects.stored.items() if key.startswith(bucket)}
        items: dict[str, str] = {}
        for key in sorted(key for key in stored if key.startswith(prefix)):
            head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            name = prefix + head + cut if cut else key
            if name > after:
                items[name] = _xml("CommonPrefixes", Prefix=escape(name)) if cut else _contents(key, stored[key])
        page = list(items)[: int(asked.get("max-keys", _MOST_KEYS))]
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(page) < len(items) else ""
        body = f"<ListBucketResult>{''.join(items[name] for name in page)}{more}</ListBucketResult>"
        return self.answer(_WHOLE, body)

    def answer(self, status: int, body: bytes | str = b"", headers: dict[str, str] | None = None) -> None:
        """Send an answer."""
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


class GoogleHandler(Handler):
    """Google Cloud Storage, whose buckets exist here as soon as they are named."""

    copy_source = "x-goog-copy-source"

    def fails_condition(self, found: Stored | None) -> bool:
        """Compare generations; 0 expects none."""
        expected = self.headers.get("x-goog-if-generation-match")
        return expected is not None and int(expected) != (found.generation if found else 0)


class S3Handler(Handler):
    """S3, whose buckets are made first, and which removes many objects at once."""

    copy_source = "x-amz-copy-source"

    def fails_condition(self, found: Stored | None) -> bool:
        """Compare tags, which are hashes of the content."""
        if self.headers.get("If-None-Match") == "*":
            return found is not None
        expected = self.headers.get("If-Match")
        return expected is not None and (found is None or expected.strip('"') != found.tag)

    def parse_request(self) -> bool:
        """Do as other servers; and say so where there is no such bucket."""
        if not super().parse_request():
            return False
        bucket, _, key = self.asked.rstrip("/").partition("/")
        self.asked = f"{bucket}/{key}" if key else bucket
        if self.command == "PUT" and not key:
            self.objects.buckets.add(bucket)
            self.answer(_WHOLE)
            return False
        if bucket not in self.objects.buckets:
            self.answer(_MISSING, _xml("Error", Code="NoSuchBucket", Message="The bucket does not exist"))
            return False
        return True

    def do_POST(self) -> None:
        if "delete" not in self.parameters:
            return super().do_POST()
        keys = [unescape(one.decode()) for one in re.findall(rb"<Key>(.*?)</Key>", self.body)]
        for key in keys:
            self.remove(f"{self.asked}/{key}")
        deleted = "".join(_xml("Deleted", Key=escape(key)) for key in keys)
        return self.answer(_WHOLE, f"<DeleteResult>{deleted}</DeleteResult>")

    def do_DELETE(self) -> None:
        self.remove(self.asked)
        return self.answer(_GONE)


def _contents(key: str, stored: Stored) -> str:
    size, modified = str(len(stored.content)), stored.modified.isoformat().replace("+00:00", "Z")
    return _xml("Contents", Key=escape(key), Size=size, LastModified=modified, ETag=stored.headers["ETag"])


def _xml(name: str, **fields: str) -> str:
    return f"<{name}>{''.join(f'<{key}>{value}</{key}>' for key, value in fields.items())}</{name}>"
