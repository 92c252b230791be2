"""The entries of an archive as its index lists them: each is a document, or a row with the reason why not.

fsspec walks an archive as a tree of folders, and loses names that lead out of it, and repeated ones.
"""

import re
from collections import Counter
from collections.abc import Iterator
from stat import S_ISLNK
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from zipfile import ZipInfo

    from fsspec import AbstractFileSystem

_SAYS_UTF8 = 0x800  # flag of a name; Python takes others for cp437
_LEADS_OUT = "its name leads out of the archive; pack it under another"
_IRREGULAR = "not a regular file"
LINK = "symbolic link, which is not followed; copy the file"
"""The reason not to read a link in a ZIP archive, of which the bytes are the name of its target."""

_REPEATED = "a later entry of the archive has the same name, and that one is read; pack them under different names"


class ArchiveEntry(NamedTuple):
    """A visible file of an archive: its path below the folder, fsspec's facts, and the reason not to read it."""

    path: str
    facts: dict[str, Any]
    refused: str | None = None


def is_archive(system: "AbstractFileSystem") -> bool:
    """Return True if a file system is an archive whose index can be read: ZIP or tar."""
    return hasattr(system, "zip") or hasattr(system, "tar")


def entries_of(system: "AbstractFileSystem", root: str) -> Iterator[ArchiveEntry]:
    """Yield every file below a folder of an archive, or the one file; the last of those with one name has its path."""
    found = [(path, *one) for one in _files(system) if (path := _below(root, one[0])) is not None]
    total = Counter(path for path, *_ in found)
    seen = Counter[str]()
    for path, name, place, refused in found:
        seen[path] += 1
        leads_out = _leads_out(name)
        if not leads_out and any(part.startswith(".") for part in path.split("/")):
            continue
        if seen[path] < total[path]:
            path, refused = f"{path} (entry {seen[path]} of {total[path]})", _REPEATED
        elif leads_out:
            refused = _LEADS_OUT
        yield ArchiveEntry(path, {"name": place} if refused else _facts(system, place), refused)


def _files(system: "AbstractFileSystem") -> list[tuple[str, str, str | None]]:
    """Return of all entries except folders the name, that by which fsspec knows it, and the reason not to read it."""
    if hasattr(system, "zip"):
        entries = (one for one in system.zip.infolist() if not one.is_dir())
        return [(_name_of(one), one.filename, LINK if S_ISLNK(one.external_attr >> 16) else None) for one in entries]
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
