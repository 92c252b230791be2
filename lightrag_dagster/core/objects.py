"""Objects of a bucket: the one module that knows obstore, which speaks to S3, Google Cloud Storage and Azure.

Credentials, region and endpoint come from the environment, under the names that the provider's own tools read
(AWS_…, GOOGLE_…, AZURE_…); LanceDB reads the same.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lightrag_dagster.errors import SettingsError, StoreError, one_line

if TYPE_CHECKING:
    from obstore.store import ObjectStore

Tag = dict[str, str]
"""The name of an object's state in conditions: `e_tag`, and `version` where the provider has one."""

_MULTIPART_BYTES = 32 << 20
"""Larger files are uploaded in parts, for which no provider supports conditions."""

_RETRIES, _RETRY_SECONDS, _REQUEST_SECONDS, _CONNECT_SECONDS = 12, 60, 120, 10
_FIRST_WAIT_SECONDS = 0.5
"""Least time between two tries; drawn at random, it grows: all of them take 11 to 40 seconds, mostly about 19."""


class Stored(NamedTuple):
    """An object as a listing shows it. Size in bytes."""

    size: int
    modified: datetime
    e_tag: str | None


class Objects:
    """The objects below one prefix of a bucket; threads may share it.

    Every method raises StoreError when the bucket cannot be reached or refuses; 5xx answers, lost connections and
    timeouts are retried for some 20 seconds first.
    """

    def __init__(self, name: str, store: "ObjectStore") -> None:
        import obstore  # of the extra `cloud`

        self.name = name
        self._store, self._api = store, obstore

    @classmethod
    def open(cls, uri: str) -> Self:
        """Open s3://bucket/prefix, gs://… or az://…; nothing is asked yet.

        Raises:
            SettingsError: the extra `cloud` is not installed, or the URI or the environment cannot be used.
        """
        try:
            from obstore import store
            from obstore.exceptions import BaseError
        except ImportError as error:
            raise SettingsError(f"{uri} needs the extra `cloud`; pip install 'lightrag-dagster[cloud]'") from error
        if set("#?") & set(uri):  # obstore would use the prefix before them
            raise SettingsError(f"{uri} cannot be used: # and ? end the path of a URI; choose another prefix")
        open_url: Any = store.from_url  # its types know no URL of any provider
        options = {
            "timeout": timedelta(seconds=_REQUEST_SECONDS),
            "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
            "allow_http": True,  # if the environment names an endpoint that begins with http://
        }
        waits = {"init_backoff": timedelta(seconds=_FIRST_WAIT_SECONDS)}
        limits = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_SECONDS), "backoff": waits}
        try:
            return cls(uri, open_url(uri, client_options=options, retry_config=limits))
        except (BaseError, ValueError) as error:
            raise SettingsError(f"{uri} cannot be used: {_first_line(error)}") from error

    def list(self, folder: str) -> dict[str, Stored]:
        """Return key → object of everything below a folder."""
        return dict(self.walk(folder))

    def walk(self, folder: str = "") -> Iterator[tuple[str, Stored]]:
        """Yield key and object of everything below a folder, a page at a time."""
        with self._explained(f"{folder}/"):
            for block in self._api.list(self._store, folder, chunk_size=1000):
                for meta in block:
                    yield meta["path"], _stored(meta)

    def head(self, key: str) -> Stored | None:
        """Return an object as a listing shows it, or None when there is none."""
        with suppress(FileNotFoundError), self._explained(key):
            return _stored(self._api.head(self._store, key))
        return None

    def get(self, key: str) -> tuple[bytes, Tag] | None:
        """Return an object, or None when there is none."""
        with suppress(FileNotFoundError), self._explained(key):
            found = self._api.get(self._store, key)
            return bytes(found.bytes()), _tag(found.meta)
        return None

    def first(self, key: str, size: int) -> bytes | None:
        """Return the first bytes of an object, all of a smaller one, or None when there is none."""
        found = bytearray()
        try:
            with self._explained(key):
                answer = self._api.get(self._store, key)
                for block in answer.stream():
                    found += block
                    if len(found) >= size:
                        break
                whole = answer.meta["size"]
        except FileNotFoundError:
            return None
        if len(found) < min(size, whole):
            raise StoreError(f"{self.name}/{key}: {len(found)} of {whole} bytes came; run again")
        return bytes(found[:size])

    def download(self, key: str, path: Path) -> bool:
        """Write an object to a file; return False when there is none."""
        try:
            with self._explained(key):
                found = self._api.get(self._store, key)
        except FileNotFoundError:
            return False
        with self._explained(key), path.open("wb") as file:
            written = sum(file.write(block) for block in found.stream())
            size = found.meta["size"]
        if written != size:
            raise StoreError(f"{self.name}/{key}: {written} of {size} bytes came; run again")
        return True

    def upload(self, key: str, content: Path | bytes, *, create: bool) -> None:
        """Store a file or bytes; with `create`, an existing object is left as it is."""
        from obstore.exceptions import AlreadyExistsError

        large = isinstance(content, Path) and content.stat().st_size > _MULTIPART_BYTES
        if create and large and self.head(key):
            return
        mode: Any = "create" if create and not large else "overwrite"
        with suppress(AlreadyExistsError), self._explained(key):
            self._api.put(self._store, key, content, mode=mode, use_multipart=large)

    def replace(self, key: str, content: bytes, before: Tag | None) -> Tag | None:
        """Store an object if the present one still has the tag, or if there is none and `before` is None.

        Returns the new tag, or None when another process was faster.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = before or "create"
        try:
            with self._explained(key):
                return _tag(self._api.put(self._store, key, content, mode=mode))
        except (AlreadyExistsError, PreconditionError):
            # The answer to a first attempt may have been lost, and the second one meets its own object.
            found = self.get(key)
            return found[1] if found and found[0] == content else None

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; missing ones are not an error."""
        if not keys:
            return
        try:
            with self._explained(keys[0]):
                self._api.delete(self._store, list(keys))
        except FileNotFoundError:  # Where each object takes a request, obstore stops at one that is missing.
            for key in keys:
                with suppress(FileNotFoundError), self._explained(key):
                    self._api.delete(self._store, key)

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Raise StoreError instead, except for not-found and precondition errors."""
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            yield
        except (AlreadyExistsError, PreconditionError, FileNotFoundError):
            raise
        except (BaseError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise StoreError(
                    f"{self.name}/{key} cannot be copied to this machine: {error.strerror}; make room for temporary "
                    "files and the cache, and run again"
                ) from error
            raise StoreError(
                f"{self.name}/{key} cannot be used: {_first_line(error)}; check the bucket, its credentials and the "
                "network, and run again"
            ) from error


def _stored(meta: Any) -> Stored:
    return Stored(meta["size"], meta["last_modified"], meta["e_tag"])


def _tag(meta: Any) -> Tag:
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}


def _first_line(error: Exception) -> str:
    """Return the library's message without the details for its developers."""
    return one_line(Exception(str(error).split("\n\nDebug source")[0]))[:300]
