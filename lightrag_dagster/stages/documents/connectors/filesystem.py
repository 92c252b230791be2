"""Documents in any file system that fsspec knows: an archive, another machine, a repository."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import one_line, origins
from lightrag_dagster.stages.documents.connectors.archives import LINK, ArchiveEntry, entries_of, is_archive
from lightrag_dagster.stages.documents.connectors.hosts import WEB, Hosts, RefusedHostError, guarded_client
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, STABLE_AFTER, ByURI, ListedFile, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE, Patterns

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_TIMES = ("mtime", "modified", "last_modified", "LastModified", "created", "date_time")
_CHECKSUMS = ("CRC", "sha", "md5", "ETag", "e_tag", "etag")
_OF_READING = ("time", "atime", "accessed")
"""Facts that reading a file changes."""


@dataclass(frozen=True)
class FileSystem(ByURI):
    """The files below a URI of fsspec, such as zip::… or sftp://host/folder, or one file.

    Hidden files are left out. Options of the file system are in the environment, under fsspec's names, such as
    FSSPEC_SFTP_PASSWORD. On the web, redirects are followed to its own host and to those that are named (`Hosts`).
    """

    patterns: Patterns = EVERY_FILE
    follow_hosts: tuple[str, ...] = ()
    at_once: ClassVar[int] = 1

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        with _as_os_errors():
            self.__dict__.pop("_opened", None)  # a connection of an earlier listing may remember that one
            whole = self._facts_of_archive()  # before it is opened: it may be replaced meanwhile
            system, root = self._opened
            found = entries_of(system, root) if is_archive(system) else _walk(system, root)
            first = next(found, None)
            if first is None and not system.exists(root):
                raise FileNotFoundError(errno.ENOENT, "it is not there")
            for entry in chain([first] if first else [], found):
                if self.patterns.match(entry.path):
                    listed = _listed(entry.path, entry.facts, whole)
                    yield replace(listed, refused=entry.refused or listed.refused)

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        with _as_os_errors():
            system, _ = self._opened
            with system.open(listed.place, "rb") as file:
                data: bytes = file.read(most)
                return data

    def __reduce__(self) -> tuple[type["FileSystem"], tuple[str, Patterns, tuple[str, ...]]]:
        """Leave the connection behind."""
        return FileSystem, (self.uri, self.patterns, self.follow_hosts)

    @cached_property
    def _opened(self) -> tuple["AbstractFileSystem", str]:
        return self._open(self.uri)

    def _open(self, uri: str) -> tuple["AbstractFileSystem", str]:
        from fsspec.core import url_to_fs

        system, root = url_to_fs(uri, skip_instance_cache=True, **self._guards())
        return system, root

    def _facts_of_archive(self) -> dict[str, Any]:
        """Return the facts of an archive as a file, if it has no checksums of its entries as a ZIP archive has."""
        protocol, _, place = self.uri.partition("::")
        if not place or protocol.partition("://")[0].lower() not in ("tar", "libarchive"):
            return {}
        system, path = self._open(place)
        return dict(system.info(path))

    def _guards(self) -> dict[str, Any]:
        """Return the options of each file system in the URI that could be redirected; raises OSError."""
        guards = {}
        for part in self.uri.split("::"):
            protocol = part.partition("://")[0].lower()
            if protocol == "reference":
                raise OSError(errno.EINVAL, "reference: reads what a file names, wherever that is; name the files")
            if protocol in WEB:
                guards[protocol] = {"get_client": guarded_client(Hosts(part, self.follow_hosts))}
        return guards


def _walk(system: "AbstractFileSystem", root: str) -> Iterator[ArchiveEntry]:
    """Yield the visible files below a folder, or the one file."""
    if system.isfile(root):
        yield ArchiveEntry(root.rpartition("/")[2], system.info(root))
        return
    if not system.exists(root):
        return
    for folder, folders, files in system.walk(root, detail=True, on_error="raise"):
        for hidden in [name for name in folders if name.startswith(".")]:
            del folders[hidden]
        below = folder[len(root) :].strip("/")
        for name, facts in files.items():
            if not name.startswith("."):
                is_link = facts.get("type") == "link" or facts.get("islink")  # by SFTP, and by a folder of fsspec's
                yield ArchiveEntry(f"{below}/{name}" if below else name, facts, LINK if is_link else None)


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Raise errors of the file systems' libraries as OSError."""
    try:
        yield
    except Exception as error:
        if refused := next((one for one in origins(error) if isinstance(one, RefusedHostError)), None):
            raise refused from error
        if isinstance(error, OSError) and error.strerror:
            raise
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(errno.ENOENT, f"{one_line(error)} is not there") from error
        raise OSError(errno.EIO, one_line(error) or type(error).__name__) from error


def _listed(path: str, facts: dict[str, Any], whole: dict[str, Any]) -> ListedFile:
    """Return a file; its stamp is of its facts, or of those of the `whole` archive."""
    telling = whole or facts
    sums = {key: str(found) for key in _CHECKSUMS if (found := telling.get(key))}
    lasting = sums or {key: str(value) for key, value in telling.items() if key not in _OF_READING}
    return ListedFile(
        path=shown(path),
        place=str(facts["name"]),
        size=int(facts.get("size") or 0),
        modified_at=_modified(facts),
        stamp=digest(facts.get("size"), lasting),
        stamp_is_stable=bool(sums) or EPOCH < _modified(telling) < datetime.now(UTC) - timedelta(seconds=STABLE_AFTER),
        refused=unusable(path),
    )


def _modified(facts: dict[str, Any]) -> datetime:
    return next((found for key in _TIMES if (found := _time(facts.get(key)))), EPOCH)


def _time(value: object) -> datetime | None:
    """Return a time as one of the file systems gives it, UTC without a time zone; None if there is no such time."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    with suppress(ValueError, OverflowError):
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, tuple) and len(value) == 6:
            return datetime(*value, tzinfo=UTC)
    return None
