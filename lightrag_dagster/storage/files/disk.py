"""The files of a home on a disk: they are where they are read and written."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.files.files import Files
from lightrag_dagster.storage.locks.base import Lock


@dataclass(frozen=True)
class DiskFiles(Files):
    """See `Files`."""

    def open(self, paths: Iterable[Path], sizes: Mapping[Path, int] | None = None) -> list[Path]:
        """See `Files.open`."""
        return list(paths)

    def open_folder(self, folder: Path, *, again: bool = False) -> Path:
        """See `Files.open_folder`."""
        return folder

    def read_bytes(self, path: Path) -> bytes:
        """See `Files.read_bytes`."""
        return path.read_bytes()

    def hash(self, path: Path) -> str:
        """See `Files.hash`."""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def count_rows(self, paths: Iterable[Path]) -> int:
        """See `Files.count_rows`."""
        return sum(map(atomic.count_rows, paths))

    def list_folder(self, folder: Path) -> dict[Path, Stored]:
        """See `Files.list_folder`."""
        facts = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
        return {
            path: Stored(one.st_size, datetime.fromtimestamp(one.st_mtime, UTC), None) for path, one in facts.items()
        }

    @contextmanager
    def writing(self, path: Path) -> Iterator[Path]:
        """See `Files.writing`."""
        with atomic.replacing(path) as temporary:
            yield temporary

    def write(self, path: Path, rows: pa.Table) -> None:
        """See `Files.write`."""
        if not path.exists():
            atomic.write_parquet(path, rows)

    def keep(self, paths: Iterable[Path]) -> None:
        """See `Files.keep`."""
        for path in paths:
            atomic.sync_tree(path)

    def remove(self, paths: Sequence[Path]) -> None:
        """See `Files.remove`."""
        for path in paths:
            path.unlink(missing_ok=True)

    def remove_folder(self, folder: Path) -> None:
        """See `Files.remove_folder`."""
        shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def session(self, lock: Lock | None = None) -> Iterator[None]:
        """See `Files.session`."""
        yield

    def push(self, lock: Lock | None = None) -> None:
        """Do nothing: what is written is there."""

    def take_over(self, records: Sequence[Path] | None = None) -> None:
        """Do nothing: all processes read the same records."""

    def empty_other_caches(self) -> None:
        """Do nothing: nothing is cached."""
