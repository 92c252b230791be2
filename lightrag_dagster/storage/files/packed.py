"""Files of a bucket by their names on a disk; graph databases and arrays of generations are compressed by zstd.

On disks, and so in the cache, they are as they are written.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.storage.files.atomic import disk_errors

_SUFFIX = ".zst"
_COMPRESSION = "zstd"
_BLOCK_BYTES = 1 << 20


def is_packed(name: str) -> bool:
    """Say whether a file, named below its home, is compressed in a bucket, where its size is another than on a disk."""
    return name.startswith("generations/") and name.endswith((".kuzu", ".arrow", ".npy"))


def name_of(key: str) -> str:
    """Return the name of a file on a disk."""
    name = key.removesuffix(_SUFFIX)
    return name if is_packed(name) else key


def key_of(name: str) -> str:
    """Return the name of a file in a bucket."""
    return f"{name}{_SUFFIX}" if is_packed(name) else name


def hash_of(objects: Objects, name: str) -> str | None:
    """Return the SHA-256 of a file as it is on a disk, or None when there is none, by way of a temporary file.

    Raises:
        OSError: it is damaged.
        StoreError: there is no place for a temporary file, or the bucket refuses.
    """
    try:
        with temporary_folder("lightrag-copy-") as folder:
            content = folder / "content"
            if not objects.download(key_of(name), content):
                return None
            with pa.input_stream(content, compression=_COMPRESSION if is_packed(name) else None) as stored:
                return hashlib.file_digest(stored, "sha256").hexdigest()
    except OSError as error:
        if error.errno is None:  # of Arrow: what came cannot be expanded
            raise
        place = "cannot write in the folder of temporary files"  # which must not look like damage of the bucket
        raise StoreError(f"{place}: {error.strerror}; nothing was changed; make room there, or set TMPDIR") from error


def download(objects: Objects, name: str, path: Path) -> int | None:
    """Write a file of the bucket to a path; return its bytes in the bucket, or None when there is none.

    Raises:
        StoreError: it is damaged, or the disk or the bucket refuses.
    """
    if not is_packed(name):
        return path.stat().st_size if objects.download(name, path) else None
    with _beside(path) as content:
        if not objects.download(key_of(name), content):
            return None
        unpack(f"{objects.name}/{key_of(name)}", content, path)
        return content.stat().st_size


def upload(objects: Objects, name: str, path: Path, *, create: bool) -> int:
    """Store a file and return its bytes in the bucket; with `create`, an existing one is left as it is.

    Raises:
        StoreError: the disk or the bucket refuses.
    """
    if not is_packed(name):
        objects.upload(name, path, create=create)
        return path.stat().st_size
    with _beside(path) as content:
        pack(path, content)
        objects.upload(key_of(name), content, create=create)
        return content.stat().st_size


def pack(path: Path, target: Path) -> None:
    """Write the content of a file, compressed, to another; raises OSError."""
    with path.open("rb") as file, pa.output_stream(target, compression=_COMPRESSION) as packed:
        shutil.copyfileobj(file, packed, _BLOCK_BYTES)


def unpack(name: str, path: Path, target: Path) -> None:
    """Write the content of a compressed file, which `name` tells, to another.

    Raises:
        StoreError: the file is damaged, or the disk refuses.
    """
    with disk_errors(target), target.open("wb") as file:
        file.writelines(_unpacked(name, path))


def _unpacked(name: str, path: Path) -> Iterator[bytes]:
    with pa.input_stream(path, compression=_COMPRESSION) as packed:
        try:
            while block := packed.read(_BLOCK_BYTES):
                yield block
        except OSError as error:
            raise StoreError(
                f"{name} is damaged ({one_line(error)}); run `lightrag-dagster run --verify`, which builds it again"
            ) from error


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give a temporary file; a folder of it would end other threads that look for files while it goes."""
    with disk_errors(path), NamedTemporaryFile(dir=path.parent, prefix=".packed.") as file:
        yield Path(file.name)
