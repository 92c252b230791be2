"""Documents in a bucket."""

import errno
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from lightrag_dagster.core.objects import Objects, Stored
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.stages.documents.connectors.origin import STABLE_AFTER, ByURI, ListedFile, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE, Patterns

BUCKETS = ("s3", "gs", "az")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bucket(ByURI):
    """The objects below a URI such as s3://bucket/prefix, or one `file` there, which must not be missing.

    Hidden ones, with a dot before a part of their name, are left out. Requests that fail for a passing reason are
    repeated for some 20 seconds. All places of a bucket share connections.
    """

    patterns: Patterns = EVERY_FILE
    file: str = ""
    at_once: ClassVar[int] = 16

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        try:
            for key, one in self._one() if self.file else self._walk():
                hidden = any(part.startswith(".") for part in key.split("/"))
                # Consoles create empty objects to show folders.
                if not hidden and (one.size or "." in key) and self.patterns.match(key):
                    yield self._listed(key, one)
        except (SettingsError, StoreError) as error:
            raise OSError(errno.EIO, str(error)) from error

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        try:
            data = self._objects.first(self._key(listed.place), most)
        except (SettingsError, StoreError) as error:
            _log.warning("%s", error)
            raise OSError(errno.EIO, "the request failed") from error
        if data is None:
            raise FileNotFoundError(errno.ENOENT, "it is not there any more")
        return data

    @contextmanager
    def at_hand(self, listed: ListedFile) -> Iterator[Path]:
        """Copy a document to a file of this machine, however large it is, for a time; raises OSError."""
        with temporary_folder("lightrag-rows-") as folder:
            copy = folder / f"rows{Path(listed.place).suffix.lower()}"
            try:
                found = self._objects.download(self._key(listed.place), copy)
            except (SettingsError, StoreError) as error:
                raise OSError(errno.EIO, str(error)) from error
            if not found:
                raise FileNotFoundError(errno.ENOENT, f"{listed.path} is not there any more")
            yield copy

    def _one(self) -> Iterator[tuple[str, Stored]]:
        if not (found := self._objects.head(self._key(self.file))):
            raise FileNotFoundError(errno.ENOENT, f"{self.uri}/{self.file} is not there")
        yield self.file, found

    def _walk(self) -> Iterator[tuple[str, Stored]]:
        for key, one in self._objects.walk(self._prefix):
            yield key.removeprefix(f"{self._prefix}/"), one

    @property
    def _objects(self) -> Objects:
        parts = urlsplit(self.uri)
        return _open(f"{parts.scheme}://{parts.netloc}")

    @property
    def _prefix(self) -> str:
        return unquote(urlsplit(self.uri.replace("#", "%23")).path).strip("/")

    def _key(self, place: str) -> str:
        return f"{self._prefix}/{place}".lstrip("/")

    def _listed(self, key: str, one: Stored) -> ListedFile:
        changed = one.modified.timestamp()
        return ListedFile(
            path=shown(key),
            place=key,
            size=one.size,
            modified_at=one.modified,
            stamp=f"{one.size}-{one.e_tag or changed}",
            # The tag depends on the content or its version.
            stamp_is_stable=bool(one.e_tag) or changed < time.time() - STABLE_AFTER,
            refused=unusable(key),
        )


@cache
def _open(uri: str) -> Objects:
    return Objects.open(uri)
