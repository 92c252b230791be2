"""The files of a source, with the reason where one is refused."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from lightrag_dagster.core import identity
from lightrag_dagster.errors import SourceError
from lightrag_dagster.stages.documents.formats import FORMATS, format_of
from lightrag_dagster.stages.documents.sources import UNFIT_CHARACTERS, Source

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ListedFile:
    """A file of a source.

    `path` is relative to the source, with forward slashes; `file` is where to read it; `size` is in bytes; `stamp`
    changes when the file is touched; `refused` says why it must not be read.
    """

    path: str
    file: Path
    size: int
    modified_at: datetime
    stamp: tuple[int, int, int]
    refused: str | None


def list_files(source: Source) -> list[ListedFile]:
    """Return the source's files sorted by path; hidden ones are left out.

    Symbolic links count when they lead to a file inside the source. Linked folders are not entered: inside the source
    their files are listed where they are, and outside they are refused.

    Raises:
        SourceError: a folder cannot be listed, so the files of the source are not known.
    """
    try:
        root = source.folder.resolve(strict=True)
        found = [_listed(entry, path, root) for entry, path in _walk(root) if _matches(path, source.glob)]
    except (OSError, RuntimeError) as error:  # RuntimeError: the folder is a loop of links, before Python 3.13
        reason = getattr(error, "strerror", None) or "too many levels of symbolic links"
        raise SourceError(
            f"source {source.name!r}: {source.folder} cannot be listed: {reason}; nothing was changed. "
            "Make the folder readable and run again"
        ) from error
    return sorted((listed for listed in found if listed is not None), key=lambda listed: listed.path)


def listing_signature(files: Sequence[ListedFile]) -> str:
    """Return a hash of path, size, modification and change time and inode: equal when no file was touched."""
    return identity.digest([[listed.path, listed.size, *listed.stamp, listed.refused] for listed in files])


def _walk(root: Path) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield every visible entry below `root` that is not a folder, with its path relative to `root`."""
    folders = [(str(root), "")]
    while folders:
        folder, prefix = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, f"{prefix}{entry.name}/"))
                else:
                    yield entry, prefix + entry.name


def _matches(path: str, glob: str) -> bool:
    """Match a path against a glob in which `**` is any number of folders; the same in every Python version."""

    def match(parts: list[str], patterns: list[str]) -> bool:
        if not patterns:
            return not parts
        if patterns[0] == "**":
            rest = patterns[1:]
            return not rest or any(match(parts[skipped:], rest) for skipped in range(len(parts)))
        return bool(parts) and fnmatchcase(parts[0], patterns[0]) and match(parts[1:], patterns[1:])

    return match(path.split("/"), glob.split("/"))


def _listed(entry: os.DirEntry[str], path: str, root: Path) -> ListedFile | None:
    """Return one entry, or None for a link to a folder of the source or for a file deleted meanwhile."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    file, refused = Path(entry.path), None
    if stat.S_ISLNK(status.st_mode):
        try:
            status, file = file.stat(), file.resolve()
        except OSError as error:
            refused = f"symbolic link that leads nowhere: {error.strerror}"
        if refused is None and not file.is_relative_to(root):
            refused = "symbolic link that leads out of the source"
        elif stat.S_ISDIR(status.st_mode):
            return None
    if refused is None:
        refused = _unusable(path, status.st_mode)
    return ListedFile(
        path=UNFIT_CHARACTERS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), path),
        file=file,
        size=status.st_size,
        modified_at=_EPOCH + timedelta(microseconds=status.st_mtime_ns // 1000),
        stamp=(status.st_mtime_ns, status.st_ctime_ns, status.st_ino),
        refused=refused,
    )


def _unusable(path: str, mode: int) -> str | None:
    if UNFIT_CHARACTERS.search(path):
        return "path holds control characters or is not UTF-8; rename it"
    if not stat.S_ISREG(mode):
        return "not a regular file"
    if format_of(path) is None:
        suffix = PurePosixPath(path).suffix.lower() or "without suffix"
        return f"unsupported file type ({suffix}); supported are {', '.join(FORMATS)}"
    return None
