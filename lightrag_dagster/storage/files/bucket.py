"""A home in a bucket: its files move between the bucket and the cache folder of this process.

Every function here does nothing for a home on disk, but that `refresh` checks its format. Writers need `writing`, which
the locks of a home contain; readers `refresh` the records, and code that reads a data file calls `fetch` first.
`storage.files.mirror` says how files are kept.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.files.cache import is_held, link_of_another
from lightrag_dagster.storage.files.mirror import Mirror, each
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.base import Lock

_FOOTER_BYTES = 64 << 10


@contextmanager
def writing(home: Home, lock: Lock | None = None) -> Iterator[None]:
    """Take over the records of the bucket, and upload at the end of the block what was written, also after an error.

    Raises:
        BuilderLockedError: the builder's lock was lost.
        StoreError: another process wrote the same, or the bucket refuses; the published snapshot stays.
    """
    if home.bucket is None:
        yield
        return
    mirror = _mirror_of(home)
    with mirror.busy:
        mirror.pull()
        mirror.writers += 1
    try:
        try:
            yield
        except BaseException:
            with suppress(StoreError):
                push(home, lock)
            raise
        push(home, lock)
    finally:
        with mirror.busy:
            mirror.writers -= 1


def push(home: Home, lock: Lock | None = None) -> None:
    """Upload what was written so far in a block of `writing`; raises as it does."""
    if home.bucket is not None:
        mirror = _mirror_of(home)
        with mirror.busy:
            # Outside a block there may be what a killed process left, which must not be published.
            if mirror.writers:
                mirror.push(lock)


def refresh(home: Home) -> None:
    """Make all records those of the bucket, unless this process is writing; raises as `formats.require_readable`."""
    if home.bucket is not None:
        mirror = _mirror_of(home)
        with mirror.busy:
            if not mirror.writers:
                mirror.pull()
    home_format.require_readable(home)


def refresh_records(home: Home, paths: Sequence[Path]) -> None:
    """Make some records those of the bucket, while this process writes those of other ingestions; raises StoreError."""
    if home.bucket is not None:
        mirror = _mirror_of(home)
        with mirror.busy:
            mirror.get_records(filter(mirror.is_of_others, map(mirror.name, paths)))
            mirror.save_tags()


def fetch(home: Home, paths: Sequence[Path]) -> None:
    """Fetch the data files that the cache lacks; one that the bucket lacks is missing afterwards. Raises StoreError."""
    if home.bucket is None:
        return
    mirror = _mirror_of(home)
    for path in paths:
        if is_held(path):
            with suppress(FileNotFoundError):
                os.utime(path)
    missing = [path for path in paths if not path.exists()]
    if missing:
        each(mirror.fetch, missing)
        mirror.keep_within(home.cached_bytes)


def download(home: Home, paths: Sequence[Path]) -> None:
    """Fetch files again, whether or not they are there; one that the bucket lacks is missing. Raises StoreError."""
    each(_mirror_of(home).fetch, paths)


def upload(home: Home, paths: Sequence[Path]) -> None:
    """Store files in a bucket at once, so that workers on other machines find them; raises StoreError."""
    if home.bucket is not None:
        each(_mirror_of(home).upload, paths)


def count_rows(home: Home, paths: Sequence[Path]) -> int:
    """Return the rows of Parquet files, which need not be fetched.

    Raises:
        StoreError: a file is missing or damaged, or the bucket refuses.
    """

    def rows(path: Path) -> int:
        return atomic.count_rows(path, None if home.bucket is None or path.exists() else _footer(home, path))

    return sum(each(rows, paths))


def fetch_folder(home: Home, folder: Path) -> None:
    """Fetch the data files of a folder that the cache lacks; raises StoreError."""
    if home.bucket is not None:
        found = stored_files(home, folder)
        for path, one in found.items():
            if is_held(path) and path.stat().st_size != one.size:
                path.unlink()  # the bucket's was repaired
            if not path.exists():
                link_of_another(home.root, path, one.size)
        fetch(home, list(found))


def stored_files(home: Home, folder: Path) -> dict[Path, Stored]:
    """Return the files below a folder of the home; of a bucket, by the path they have in the cache, without records.

    Raises:
        StoreError: the disk or the bucket refuses.
    """
    if home.bucket is None:
        found = [path for path in folder.rglob("*") if path.is_file()]
        facts = {path: path.stat() for path in found}
        times = {path: datetime.fromtimestamp(one.st_mtime, UTC) for path, one in facts.items()}
        return {path: Stored(one.st_size, times[path], None) for path, one in facts.items()}
    mirror = _mirror_of(home)
    return {home.root / key: one for key, one in mirror.objects.list(mirror.name(folder)).items()}


def remove(home: Home, paths: Sequence[Path]) -> None:
    """Remove data files from disk and bucket; raises StoreError."""
    for path in paths:
        path.unlink(missing_ok=True)
    if home.bucket is not None:
        mirror = _mirror_of(home)
        mirror.objects.delete([mirror.name(path) for path in paths])


def remove_folder(home: Home, folder: Path) -> None:
    """Remove a folder from disk, and its data files from a bucket; its records go with the next `push`."""
    shutil.rmtree(folder, ignore_errors=True)
    if home.bucket is not None:
        remove(home, list(stored_files(home, folder)))


def remove_scratch(home: Home) -> None:
    """Remove from a bucket what killed builders handed on; call it while holding the builder's lock."""
    if home.bucket is not None:
        remove_folder(home, home.scratch)


def read_bytes(home: Home, path: Path) -> bytes:
    """Return a data file of the disk or of the bucket, not through the cache; raises StoreError."""
    if home.bucket is None:
        return path.read_bytes()
    mirror = _mirror_of(home)
    found = mirror.objects.get(mirror.name(path))
    if found is None:
        raise StoreError(f"{home.name}/{mirror.name(path)} is missing; run again")
    return found[0]


def _footer(home: Home, path: Path) -> bytes | None:
    """Return the end of a Parquet file in the bucket, with all of its footer; None when there is no such file."""
    mirror = _mirror_of(home)
    end = mirror.objects.tail(mirror.name(path), _FOOTER_BYTES)
    if end is not None and atomic.footer_bytes(end) > len(end):
        end = mirror.objects.tail(mirror.name(path), atomic.footer_bytes(end))
    return end


@cache
def _mirror(uri: str, root: Path) -> Mirror:
    return Mirror(uri, root)


def _mirror_of(home: Home) -> Mirror:
    assert home.bucket is not None
    return _mirror(home.bucket, home.root)
