"""The protocol of connectors: the list of a source's documents, and the bytes of one."""

import logging
import pickle
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

import pyarrow as pa

from lightrag_dagster.core.identity import digest

_log = logging.getLogger(__name__)
UNFIT_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters not allowed in names: control characters, line separators, bytes that are not UTF-8."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_WARNED = set[str]()
_IN_MEMORY = 16 << 20  # of a listing, in bytes

STABLE_AFTER = 5.0
"""Age of a file's last change from which a later change shows in its stamp: file systems count time in ticks, of two
seconds at the most, and another machine's clock may be a little behind. Seconds."""


@dataclass(frozen=True)
class ListedFile:
    """A document of a source, as it is listed.

    `path` is relative to the source, with forward slashes; `place` is its place for the origin, unless it is refused;
    `size` is in bytes. `stamp` changes when the document is touched; `stamp_is_stable` is set if every later change
    would change it. `refused` is the reason not to read the document. `kind` is the suffix of its format if the path
    does not end with it; `content` is the whole document if the listing has it already. `access` are the values of who
    may see it, from the settings of the source alone; with a `sidecar`, the place of the file beside it that says so,
    empty if it is refused, a template that takes in the text of that.
    """

    path: str
    place: str
    size: int
    modified_at: datetime
    stamp: str
    stamp_is_stable: bool
    refused: str | None = None
    kind: str = ""
    content: bytes | None = None
    access: Sequence[str] | None = None
    sidecar: str | None = None

    @property
    def file_name(self) -> str:
        """The path, with the suffix of the format."""
        return self.path + self.kind


class Origin(Protocol):
    """A place with documents. It can be pickled, and finds credentials in the environment of its process."""

    @property
    def at_once(self) -> int:
        """The number of documents that are read at the same time."""

    @property
    def name(self) -> str:
        """The place in words, without secrets."""

    def files(self) -> Iterator[ListedFile]:
        """Yield all documents, in any order; raises OSError when they cannot be listed."""

    def read(self, listed: ListedFile, most: int) -> bytes:
        """Return the first `most` bytes of a document; raises OSError."""


@dataclass(frozen=True)
class ByURI:
    """The part of an origin whose place is a URI, which holds no secret."""

    uri: str

    @property
    def name(self) -> str:
        """See `Origin.name`."""
        return self.uri


class Since(Protocol):
    """A listing of the documents that may have changed since an earlier one."""

    @property
    def state(self) -> Mapping[str, str]:
        """The state of the whole listing, for the next one, when `files` has come to its end."""

    def files(self) -> Iterator[ListedFile]:
        """Yield the documents that may have changed, and new ones; raises as `Origin.files`."""

    def keeps(self, paths: pa.Array) -> pa.Array:
        """Return for each path of the earlier listing True if its document is as it was, when `files` has ended."""


class Incremental(ABC):
    """A place that can tell what changed since an earlier listing."""

    @abstractmethod
    def since(self, before: Mapping[str, str]) -> Since:
        """Return a listing of what changed since one of a state; of everything if that is empty."""


def at_last(files: Iterable[ListedFile]) -> Iterator[ListedFile]:
    """Yield documents once all are listed, out of a file if they are many."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as listed:
        for one in files:
            pickle.dump(one, listed)
        end = listed.tell()
        listed.seek(0)
        while listed.tell() < end:
            yield pickle.load(listed)


def warn_once(said: str, example: str = "") -> None:
    """Log a warning about a place, the first time in a process: a command lists a source several times."""
    if said not in _WARNED:
        _WARNED.add(said)
        _log.warning(said + example)


def shown(path: str) -> str:
    """Return a path with unfit characters escaped, and then with a hash, since others may be written so."""
    return path if (found := escaped(path)) == path else f"{found} ({digest(path)[:8]})"


def escaped(path: str) -> str:
    """Return a path with unfit characters escaped."""
    return UNFIT_CHARACTERS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), path)


def unusable(path: str) -> str | None:
    """Return the reason not to read a file with this path, of any format; None if it is read."""
    return "path holds control characters or is not UTF-8; rename it" if UNFIT_CHARACTERS.search(path) else None


def placed(listed: ListedFile) -> ListedFile:
    """Return a file with its place, which is UTF-8, or with the reason not to read it and without a place.

    A time outside the years 1 to 9999 in UTC, which no table gives back, is 1970.
    """
    try:
        listed.modified_at.astimezone(UTC)
    except (OverflowError, ValueError):
        listed = replace(listed, modified_at=EPOCH)
    refused = listed.refused
    if not refused and not listed.place.isascii() and re.search(r"[\ud800-\udfff]", listed.place):
        refused = "its place, the target of a link or a folder above, is not UTF-8; rename that"
    return replace(listed, place="", refused=refused) if refused and listed.place else listed
