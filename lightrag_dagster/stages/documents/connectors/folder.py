"""Documents in a folder of this machine."""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from lightrag_dagster.stages.documents.connectors.origin import EPOCH, STABLE_AFTER, ListedFile, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE, Patterns

_FIRST = datetime(1, 1, 2, tzinfo=UTC) - EPOCH
_LAST = datetime(9999, 12, 30, tzinfo=UTC) - EPOCH
"""Times of files that are kept, from 1970 on; others are the nearest of these."""

# O_PATH needs no right to list the folder; only Linux has it.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class LocalFolder:
    """The files below a folder, or one file.

    Hidden files are left out. Symbolic links count when they lead to a file inside the folder, if the patterns do not
    exclude it. Linked folders are not entered: the files of one inside the folder are listed there, and one that is
    outside, hidden or left out is refused.
    """

    root: Path
    patterns: Patterns = EVERY_FILE
    at_once: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """See `Origin.name`."""
        return str(self.root)

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        try:
            root = self.root.resolve(strict=True)
        except RuntimeError as error:  # a loop of links, before Python 3.13
            raise OSError(errno.ELOOP, "too many levels of symbolic links") from error
        if root.is_file():
            yield _found(root.name, str(root), root.stat(), None)
            return
        for entry, path in _walk(root, self.patterns):
            if listed := _listed(entry, path, root, self.patterns):
                yield listed

    def reaches(self, folder: Path) -> bool:
        """Say whether some of these files may lie in another folder; both are without links."""
        below = folder.relative_to(self.root).as_posix() if folder.is_relative_to(self.root) else "."
        return self.root.is_relative_to(folder) or (below != "." and self.patterns.reach(below))

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        with open(opened(listed.place), "rb") as file:
            data = file.read(min(most, listed.size + 1))  # allocating `most` bytes takes as long as reading a file
            return data if len(data) <= listed.size else data + file.read(most - len(data))

    @contextmanager
    def at_hand(self, listed: ListedFile) -> Iterator[Path]:
        """Open a document under a path of this process, at which no link can be put; raises OSError."""
        descriptor = opened(listed.place)
        try:
            yield Path(f"/dev/fd/{descriptor}")
        finally:
            os.close(descriptor)


def _walk(root: Path, patterns: Patterns) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield the visible entries below `root` that count, except folders, with their paths relative to `root`."""
    folders = [(str(root), "")]
    while folders:
        folder, prefix = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if patterns.enters(path):
                        folders.append((entry.path, f"{path}/"))
                elif patterns.match(path):
                    yield entry, path


def _listed(entry: os.DirEntry[str], path: str, root: Path, patterns: Patterns) -> ListedFile | None:
    """Return one entry, or None for a link to a folder that is entered or for a file deleted meanwhile."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    file, refused = entry.path, None
    if stat.S_ISLNK(status.st_mode):
        try:
            status, file = entry.stat(), str(Path(entry.path).resolve())
        except OSError as error:
            refused = f"symbolic link that leads nowhere: {error.strerror}"
        if refused is None and not Path(file).is_relative_to(root):
            refused = "symbolic link that leads out of the source"
    if refused is None and file != f"{root}/{path}":  # a link
        target = Path(file).relative_to(root).as_posix()
        if not stat.S_ISDIR(status.st_mode):
            refused = "symbolic link to a file that `exclude` leaves out" if patterns.excludes(target) else None
        elif target == "." or patterns.reach(target):
            return None
        else:
            refused = "symbolic link to a folder that is hidden or left out by `include` or `exclude`; link its files"
    return _found(path, file, status, refused)


def opened(place: str) -> int:
    """Open a file by the place that was judged, which has no links: one that was put there since is not followed."""
    folder = os.open("/", _FOLDER)
    *folders, name = place[1:].split("/")
    try:
        for one in folders:
            below = os.open(one, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, "a symbolic link was put into its place while it was read") from error
        raise
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe would wait for a writer
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def _found(path: str, file: str, status: os.stat_result, refused: str | None) -> ListedFile:
    if refused is None:
        refused = unusable(path)
    if refused is None and not stat.S_ISREG(status.st_mode):
        refused = "not a regular file"
    return ListedFile(
        path=shown(path),
        place="" if refused else file,
        size=status.st_size,
        modified_at=EPOCH + min(max(timedelta(microseconds=status.st_mtime_ns // 1000), _FIRST), _LAST),
        stamp=f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_ino}",
        stamp_is_stable=max(status.st_mtime, status.st_ctime) < time.time() - STABLE_AFTER,
        refused=refused,
    )
