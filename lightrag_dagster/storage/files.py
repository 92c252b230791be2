"""Write files atomically and durably: after a crash the old content is there or the new, never a part."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.errors import StoreError

ROWS_PER_GROUP = 100_000


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block succeeds, flush it to disk and rename it to `path`.

    Raises:
        StoreError: the disk is full or read-only.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(descriptor)
        temporary = Path(name)
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}; nothing was changed") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace `path` with UTF-8 text; raises as `replacing`."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_parquet(path: Path, table: pa.Table) -> None:
    """Replace `path` with a zstd Parquet file. Equal rows give equal bytes. Raises as `replacing`."""
    with replacing(path) as temporary:
        pq.write_table(table.combine_chunks(), temporary, compression="zstd", row_group_size=ROWS_PER_GROUP)


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file.

    Raises:
        StoreError: it is missing or damaged.
    """
    try:
        return pq.read_table(path, columns=columns, partitioning=None)
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; run `lightrag-dagster run` to rebuild it") from error
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} cannot be read ({error}); delete it and run again") from error


def count_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file; raises as `read_parquet`."""
    return int(read_parquet(path, columns=[]).num_rows)


def sync_tree(folder: Path) -> None:
    """Flush a folder and everything below it to disk.

    Raises:
        StoreError: the disk refuses.
    """
    try:
        for path in (folder, *folder.rglob("*")):
            sync(path)
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}; nothing was published") from error


def sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
