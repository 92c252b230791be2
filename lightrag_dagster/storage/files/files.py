"""The files of a home: one way to open, read, list, write and remove them, on a disk and in a bucket.

A home in a bucket has a cache on the disk of each machine. A file that is opened or read is fetched into it if it is
missing; a file that is written is uploaded, at the latest when the session of the writer ends. No caller has to know.

`Files` is made where it is needed: it holds the home and nothing else.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic, session
from lightrag_dagster.storage.files.cache import empty_unclaimed
from lightrag_dagster.storage.files.mirror import each, mirror_of
from lightrag_dagster.storage.files.notes import is_named_by_content
from lightrag_dagster.storage.home import Home


@dataclass(frozen=True)
class Files:
    """The files of one home. Every method raises StoreError when the disk or the bucket refuses."""

    home: Home

    def open(self, paths: Iterable[Path]) -> list[Path]:
        """Return files to read, fetched where they are missing; one that is nowhere is missing afterwards."""
        paths = list(paths)
        if mirror := mirror_of(self.home):
            mirror.open(paths, self.home.cached_bytes)
        return paths

    def open_folder(self, folder: Path) -> Path:
        """Return a folder whose data files can be read, fetched where they are missing."""
        if mirror := mirror_of(self.home):
            mirror.open_folder(folder, self.home.cached_bytes)
        return folder

    def read(self, path: Path, columns: list[str] | None = None, schema: pa.Schema | None = None) -> pa.Table:
        """Read a Parquet file.

        Args:
            path: The file.
            columns: Those to read, by default all.
            schema: All columns there should be; those that an older version of this package did not write are empty.

        Raises:
            StoreError: it is missing or damaged.
        """
        [path] = self.open([path])
        return atomic.read_conforming(path, schema, columns) if schema else atomic.read_parquet(path, columns)

    def read_first(self, path: Path, rows: int) -> pa.Table:
        """Read the first rows of a Parquet file; raises as `read`."""
        [path] = self.open([path])
        return atomic.read_first(path, rows)

    def read_bytes(self, path: Path) -> bytes:
        """Return the content of the file itself, not that of a copy in the cache.

        Raises:
            OSError: it cannot be read on a disk.
            StoreError: it cannot be read in a bucket.
        """
        if (mirror := mirror_of(self.home)) is None:
            return path.read_bytes()
        found = mirror.objects.get(mirror.name(path))
        if found is None:
            raise StoreError(f"{self.home.name}/{mirror.name(path)} is missing; run again")
        return found[0]

    def count_rows(self, paths: Iterable[Path]) -> int:
        """Return the number of rows of Parquet files, of which the ends alone are read; raises as `read`."""
        mirror = mirror_of(self.home)

        def rows(path: Path) -> int:
            return atomic.count_rows(path, mirror.footer(path) if mirror and not path.exists() else None)

        return sum(each(rows, paths))

    def list_folder(self, folder: Path) -> dict[Path, Stored]:
        """Return the files below a folder; of a bucket, without records."""
        if mirror := mirror_of(self.home):
            return mirror.list_folder(folder)
        facts = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
        return {
            path: Stored(one.st_size, datetime.fromtimestamp(one.st_mtime, UTC), None) for path, one in facts.items()
        }

    @contextmanager
    def writing(self, path: Path) -> Iterator[Path]:
        """Yield a temporary path beside `path`, and put it in place when the block succeeds, whole or not at all.

        A file of a table is uploaded at once, so that workers on other machines find it; everything else with the
        builder's session, which looks at the lock first.
        """
        with atomic.replacing(path) as temporary:
            yield temporary
        mirror = mirror_of(self.home)
        if mirror and is_named_by_content(mirror.name(path)):
            mirror.upload([path])

    def write(self, path: Path, rows: pa.Table) -> None:
        """Write rows to the file of a table, named by them; one that is there stays, and a bucket gets it back."""
        if not path.exists():
            atomic.write_parquet(path, rows)
        if mirror := mirror_of(self.home):
            mirror.upload([path])

    def keep(self, paths: Iterable[Path]) -> None:
        """Flush files and folders that were written without `writing`, or upload them to the bucket at once."""
        if mirror := mirror_of(self.home):
            mirror.upload([one for path in paths for one in (path, *path.rglob("*")) if one.is_file()])
        else:
            for path in paths:
                atomic.sync_tree(path)

    def remove(self, paths: Sequence[Path]) -> None:
        """Remove data files from disk and bucket."""
        for path in paths:
            path.unlink(missing_ok=True)
        if mirror := mirror_of(self.home):
            mirror.remove(paths)

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder from disk, and its data files from a bucket; its records go when the session is pushed."""
        shutil.rmtree(folder, ignore_errors=True)
        if mirror := mirror_of(self.home):
            mirror.remove(list(mirror.list_folder(folder)))

    def refresh(self, records: Sequence[Path] | None = None) -> None:
        """Take over records of a bucket: all, unless this process is writing, or some.

        While this process writes, it keeps its own, and takes over those of other ingestions. With all records, the
        format of the home is checked, on a disk as well.

        Raises:
            OlderFormatError: the home is older than this package; the next builder brings it forward.
            StoreError: it is newer, or the bucket refuses.
        """
        session.take_over(self.home, records)
        if records is None:
            home_format.require_readable(self.home)

    def empty_other_caches(self) -> None:
        """Remove what processes that have ended keep of a bucket on this machine."""
        if mirror := mirror_of(self.home):
            empty_unclaimed(mirror.root)
