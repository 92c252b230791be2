"""The files of a home in a bucket: the cache has what this machine used, and the bucket has everything."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import packed
from lightrag_dagster.storage.files.cache import empty_unclaimed
from lightrag_dagster.storage.files.files import Files
from lightrag_dagster.storage.files.mirror import Mirror, mirror_of
from lightrag_dagster.storage.files.notes import is_named_by_content
from lightrag_dagster.storage.files.session import records_of
from lightrag_dagster.storage.locks.base import Lock

Found = TypeVar("Found")


@dataclass(frozen=True)
class BucketFiles(Files):
    """See `Files`; `root` is the folder of the cache that this process uses, kept below `cached_bytes`."""

    uri: str
    root: Path
    cached_bytes: float

    @property
    def mirror(self) -> Mirror:
        """The bucket and the folder of the cache."""
        return mirror_of(self.uri, self.root)

    def open(self, paths: Iterable[Path], sizes: Mapping[Path, int] | None = None) -> list[Path]:
        """See `Files.open`."""
        paths = list(paths)
        self.mirror.drop(sizes or {})
        self.mirror.open(paths, self.cached_bytes)
        return paths

    def open_folder(self, folder: Path) -> Path:
        """See `Files.open_folder`."""
        self.mirror.open_folder(folder, self.cached_bytes, in_session=bool(records_of(self.mirror).sessions))
        return folder

    def read_bytes(self, path: Path) -> bytes:
        """See `Files.read_bytes`."""
        return self._there(path, self.mirror.objects.get(self.mirror.name(path)))[0]

    def hash(self, path: Path) -> str:
        """See `Files.hash`."""
        return self._there(path, packed.hash_of(self.mirror.objects, self.mirror.name(path)))

    def _there(self, path: Path, found: Found | None) -> Found:
        """Return what was found of a file; raises StoreError if that is nothing."""
        if found is None:
            raise StoreError(f"{self.uri}/{self.mirror.name(path)} is missing; run again")
        return found

    def list_folder(self, folder: Path) -> dict[Path, Stored]:
        """See `Files.list_folder`."""
        return self.mirror.list_folder(folder)

    @contextmanager
    def writing(self, path: Path) -> Iterator[Path]:
        """See `Files.writing`."""
        with super().writing(path) as temporary:
            yield temporary
        if is_named_by_content(self.mirror.name(path)):
            self.mirror.upload([path])

    def write(self, path: Path, rows: pa.Table) -> None:
        """See `Files.write`."""
        super().write(path, rows)
        self.mirror.upload([path])

    def keep(self, paths: Iterable[Path]) -> None:
        """See `Files.keep`."""
        self.mirror.upload([one for path in paths for one in (path, *path.rglob("*")) if one.is_file()])

    def remove(self, paths: Sequence[Path]) -> None:
        """See `Files.remove`."""
        super().remove(paths)
        self.mirror.remove(paths)

    def remove_folder(self, folder: Path) -> None:
        """See `Files.remove_folder`."""
        super().remove_folder(folder)
        self.mirror.remove_folder(folder)

    def session(self, lock: Lock | None = None) -> AbstractContextManager[None]:
        """See `Files.session`."""
        return records_of(self.mirror).writing(lock)

    def push(self, lock: Lock | None = None) -> None:
        """See `Files.push`."""
        records_of(self.mirror).push(lock)

    def refresh(self, records: Sequence[Path] | None = None) -> None:
        """See `Files.refresh`."""
        records_of(self.mirror).refresh(records)

    def empty_other_caches(self) -> None:
        """See `Files.empty_other_caches`."""
        empty_unclaimed(self.root)
