"""The files of a home: one way to open, read, list, write and remove them, on a disk and in a bucket.

A home in a bucket has a cache on the disk of each machine. A file that is opened or read is fetched into it if it is
missing; a file that is written is uploaded, at the latest when the session of the writer ends. No caller has to know.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.locks.base import Lock


@dataclass(frozen=True)
class Files:
    """The files of one home, on a disk: they are where they are read and written. `BucketFiles` has those in a bucket.

    Every method raises StoreError when the disk or the bucket refuses.
    """

    def open(self, paths: Iterable[Path], sizes: Mapping[Path, int] | None = None) -> list[Path]:
        """Return files to read, fetched where they are missing; one that is nowhere is missing afterwards.

        A copy in the cache that has not the size of its file, in bytes, is fetched again.
        """
        return list(paths)

    def open_folder(self, folder: Path) -> Path:
        """Return a folder whose data files can be read, fetched where they are missing.

        In a session, it is listed once, since under the builder's lock only this process and its workers write there.
        """
        return folder

    def read(self, path: Path, columns: list[str] | None = None) -> pa.Table:
        """Read a Parquet file.

        Args:
            path: The file.
            columns: Those to read, by default all.

        Raises:
            StoreError: it is missing or damaged.
        """
        [path] = self.open([path])
        return atomic.read_parquet(path, columns)

    def read_bytes(self, path: Path) -> bytes:
        """Return the content of the file itself, not that of a copy in the cache; it is none that a bucket compresses.

        Raises:
            OSError: it cannot be read on a disk.
            StoreError: it cannot be read in a bucket.
        """
        return path.read_bytes()

    def hash(self, path: Path) -> str:
        """Return the SHA-256 of the file itself, not that of a copy in the cache.

        Raises:
            OSError: it cannot be read on a disk, or what a bucket has cannot be expanded.
            StoreError: it cannot be read in a bucket.
        """
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def count_rows(self, paths: Iterable[Path]) -> int:
        """Return the number of rows of Parquet files; raises as `read`."""
        return sum(map(atomic.count_rows, self.open(paths)))

    def list_folder(self, folder: Path) -> dict[Path, Stored]:
        """Return the files below a folder; of a bucket, without records."""
        return atomic.files_below(folder)

    def writing(self, path: Path) -> AbstractContextManager[Path]:
        """Give a temporary path beside `path`, and put it in place when the block succeeds, whole or not at all.

        A file of a table is uploaded at once, so that workers on other machines find it; everything else with the
        builder's session, which looks at the lock first.
        """
        return atomic.replacing(path)

    def write(self, path: Path, rows: pa.Table) -> None:
        """Write rows to the file of a table, named by them; one that is there stays, and a bucket gets it back."""
        if not path.exists():
            atomic.write_parquet(path, rows)

    def keep(self, paths: Iterable[Path]) -> None:
        """Flush files and folders that were written without `writing`, or upload them to the bucket at once."""
        for path in paths:
            atomic.sync_tree(path)

    def remove(self, paths: Sequence[Path]) -> None:
        """Remove data files from disk and bucket."""
        for path in paths:
            atomic.remove(path)

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder from disk, and its data files from a bucket; its records go when the session is pushed."""
        atomic.remove(folder)

    def session(self, lock: Lock | None = None) -> AbstractContextManager[None]:
        """Refresh the records from the bucket, and upload at the end of the block what was written, also on error.

        Within a session under the same lock, that was done already.

        Raises:
            BuilderLockedError: the lock was lost.
            StoreError: another process wrote the same, or the bucket refuses; the published snapshot stays.
        """
        return nullcontext()

    def push(self, lock: Lock | None = None) -> None:
        """Upload what was written so far in a session; raises as it does."""

    def refresh(self, records: Sequence[Path] | None = None) -> None:
        """Make records those of the bucket: all, unless this process is writing, or some.

        While this process writes, it keeps its own, and refreshes those of other ingestions.
        """

    def empty_other_caches(self) -> None:
        """Remove what processes that have ended keep of a bucket on this machine."""
