"""Documents in any file system that fsspec knows: another machine, a repository, an archive, as its index lists it."""

import errno
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import one_line, origins
from lightrag_dagster.stages.documents.connectors.hosts import WEB, Hosts, RefusedHostError, guarded_client
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, STABLE_AFTER, ByURI, ListedFile, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE, Patterns

if TYPE_CHECKING:
    from zipfile import ZipInfo

    from fsspec import AbstractFileSystem

_SAYS_UTF8 = 0x800  # flag of a name; Python takes others for cp437
_LEADS_OUT = "its name leads out of the archive; pack it under another"
_IRREGULAR = "not a regular file"
_REPEATED = "a later entry of the archive has the same name, and that one is read; pack them under different names"


class _ArchiveEntry(NamedTuple):
    """A visible file of an archive: its path below the folder, fsspec's facts, and the reason not to read it.

    fsspec walks an archive as a tree of folders, and loses names that lead out of it, and repeated ones: so its index
    is read.
    """

    path: str
    facts: dict[str, Any]
    refused: str | None = None


def _is_archive(system: "AbstractFileSystem") -> bool:
    """Return True if a file system is an archive whose index can be read: ZIP or tar."""
    return hasattr(system, "zip") or hasattr(system, "tar")


def _entries_of(system: "AbstractFileSystem", root: str) -> Iterator[_ArchiveEntry]:
    """Yield every file below a folder of an archive, or the one file; the last of those with one name has its path."""
    found = [(path, *one) for one in _files(system) if (path := _below(root, one[0])) is not None]
    total, seen = Counter(path for path, *_ in found), Counter[str]()
    for path, name, place, refused in found:
        seen[path] += 1
        leads_out = _leads_out(name)
        if not leads_out and any(part.startswith(".") for part in path.split("/")):
            continue
        if seen[path] < total[path]:
            path, refused = f"{path} (entry {seen[path]} of {total[path]})", _REPEATED
        elif leads_out:
            refused = _LEADS_OUT
        yield _ArchiveEntry(path, {"name": place} if refused else _facts(system, place), refused)


def _files(system: "AbstractFileSystem") -> list[tuple[str, str, str | None]]:
    """Return of all entries except folders the name, that by which fsspec knows it, and the reason not to read it."""
    if hasattr(system, "zip"):
        return [(_name_of(one), one.filename, None) for one in system.zip.infolist() if not one.is_dir()]
    members = (one for one in system.tar.getmembers() if not one.isdir())
    return [(one.name, one.name, None if one.isreg() or one.issym() or one.islnk() else _IRREGULAR) for one in members]


def _name_of(entry: "ZipInfo") -> str:
    """Return the name of an entry of a ZIP archive: many programs write UTF-8 and do not say so, as macOS does."""
    try:
        return entry.filename if entry.flag_bits & _SAYS_UTF8 else entry.filename.encode("cp437").decode()
    except UnicodeError:
        return entry.filename


def _facts(system: "AbstractFileSystem", name: str) -> dict[str, Any]:
    """Return fsspec's facts of an entry; it knows those of tar without repeated slashes."""
    facts: dict[str, Any] = system.info(name if hasattr(system, "zip") else re.sub("/+", "/", name))
    return facts


def _below(root: str, name: str) -> str | None:
    """Return the path of an entry below a folder, without empty parts: `./a//b.md` is `a/b.md`.

    The whole archive is the folder "". None if the entry is not in there.
    """
    path = "/" * name.startswith("/") + "/".join(part for part in name.split("/") if part not in ("", "."))
    folder = root.strip("/")
    if not folder or path == folder:
        return path.rpartition("/")[2] if folder else path
    return path.removeprefix(f"{folder}/") if path.startswith(f"{folder}/") else None


def _leads_out(name: str) -> bool:
    """Return True if a program that unpacks the entry might write it elsewhere, also on Windows."""
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or parts[0].endswith(":") or ".." in parts


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
            system, root = self._opened
            found = _entries_of(system, root) if _is_archive(system) else _walk(system, root)
            first = next(found, None)
            if first is None and not system.exists(root):
                raise FileNotFoundError(errno.ENOENT, "it is not there")
            for entry in chain([first] if first else [], found):
                if self.patterns.match(entry.path):
                    listed = _listed(entry.path, entry.facts)
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
        from fsspec.core import url_to_fs

        system, root = url_to_fs(self.uri, skip_instance_cache=True, **self._guards())
        return system, root

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


def _walk(system: "AbstractFileSystem", root: str) -> Iterator[_ArchiveEntry]:
    """Yield the visible files below a folder, or the one file."""
    if system.isfile(root):
        yield _ArchiveEntry(root.rpartition("/")[2], system.info(root))
        return
    if not system.exists(root):
        return
    for folder, folders, files in system.walk(root, detail=True, on_error="raise"):
        for hidden in [name for name in folders if name.startswith(".")]:
            del folders[hidden]
        below = folder[len(root) :].strip("/")
        for name, facts in files.items():
            if not name.startswith("."):
                yield _ArchiveEntry(f"{below}/{name}" if below else name, facts)


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


def _listed(path: str, facts: dict[str, Any]) -> ListedFile:
    sums = {key: str(found) for key in _CHECKSUMS if (found := facts.get(key))}
    lasting = sums or {key: str(value) for key, value in facts.items() if key not in _OF_READING}
    modified = next((found for key in _TIMES if (found := _time(facts.get(key)))), EPOCH)
    return ListedFile(
        path=shown(path),
        place=str(facts["name"]),
        size=int(facts.get("size") or 0),
        modified_at=modified,
        stamp=digest(facts.get("size"), lasting),
        stamp_is_stable=bool(sums) or EPOCH.timestamp() < modified.timestamp() < time.time() - STABLE_AFTER,
        refused=unusable(path),
    )


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
