"""The files of a source, with the reason where one is refused."""

import itertools
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core import identity
from lightrag_dagster.core.globs import matches
from lightrag_dagster.errors import SourceError
from lightrag_dagster.stages.documents.formats import FORMATS, format_of
from lightrag_dagster.stages.documents.sources import UNFIT_CHARACTERS, Source

_FILES_AT_ONCE = 8_192
_SIGNATURES = 1 << 128
LISTED = pa.schema(
    [
        ("doc_id", pa.string()),
        ("path", pa.string()),
        ("file", pa.string()),
        ("size", pa.int64()),
        ("modified_at", pa.timestamp("us", "UTC")),
        ("stamp", pa.list_(pa.int64())),
        ("refused", pa.string()),
    ]
)
"""Columns of a listing: those of ListedFile, and the id of the document."""

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


def list_files(source: Source) -> Iterator[ListedFile]:
    """Yield the source's files in any order; hidden ones are left out.

    Symbolic links count when they lead to a file inside the source. Linked folders are not entered: inside the source
    their files are listed where they are, and outside they are refused.

    Raises:
        SourceError: a folder cannot be listed, so the files of the source are not known.
    """
    try:
        root = source.folder.resolve(strict=True)
        for entry, path in _walk(root):
            if matches(path, source.glob) and (listed := _listed(entry, path, root)):
                yield listed
    except (OSError, RuntimeError) as error:  # RuntimeError: the folder is a loop of links, before Python 3.13
        reason = getattr(error, "strerror", None) or "too many levels of symbolic links"
        raise SourceError(
            f"source {source.name!r}: {source.folder} cannot be listed: {reason}; nothing was changed. "
            "Make the folder readable and run again"
        ) from error


def listing_signature(files: Iterable[ListedFile]) -> str:
    """Return a hash of path, size, modification and change time and inode: equal when no file was touched.

    Files may come in any order: it is the sum of a hash for each.
    """
    total = 0
    for listed in files:
        total += int(identity.digest(listed.path, listed.size, *listed.stamp, listed.refused), 16)
    return f"{total % _SIGNATURES:032x}"


class Listing:
    """The files of a source at one time, as rows of LISTED in a Parquet file, so that memory does not grow with them.

    `size` is in bytes; `signature` is that of `listing_signature`.
    """

    def __init__(self, source: Source, path: Path) -> None:
        """List a source into the file `path`; raises SourceError as `list_files`."""
        self.path, self.count, self.size, total, found = path, 0, 0, 0, list_files(source)
        with pq.ParquetWriter(path, LISTED, compression="lz4") as writer:
            while batch := list(itertools.islice(found, _FILES_AT_ONCE)):
                self.count += len(batch)
                self.size += sum(one.size for one in batch)
                total += int(listing_signature(batch), 16)
                writer.write_batch(pa.RecordBatch.from_pylist([_listed_row(source, one) for one in batch], LISTED))
        self.signature = f"{total % _SIGNATURES:032x}"


def files_of(listed: pa.Table) -> list[ListedFile]:
    """Return rows of a listing as files, sorted by path."""
    rows = listed.drop_columns("doc_id").to_pylist()
    found = [ListedFile(**row | {"file": Path(row["file"]), "stamp": tuple(row["stamp"])}) for row in rows]
    return sorted(found, key=lambda one: one.path)


def _listed_row(source: Source, listed: ListedFile) -> dict[str, object]:
    facts = {name: getattr(listed, name) for name in LISTED.names if name != "doc_id"}
    return facts | {"doc_id": identity.document_id(source.name, listed.path), "file": str(listed.file)}


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
