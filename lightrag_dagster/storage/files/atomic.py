"""Write files atomically and durably: after a crash the old content is there or the new, never a part."""

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core.identity import ROWS_PER_BATCH, TableHash
from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import StoreError, one_line, unread


@contextmanager
def disk_errors(place: Path | str, outcome: str = "nothing was changed") -> Iterator[None]:
    """Raise errors of the disk in the block as a StoreError that names the place that cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot write {place}: {error.strerror or one_line(error)}; {outcome}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block succeeds, flush it to disk and rename it to `path`.

    Raises:
        StoreError: the disk is full or read-only.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.tmp")
        temporary.touch(exist_ok=False)  # with the mode of any new file, as the umask says; mkstemp keeps it from all
        try:
            yield temporary
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there, also while others remove what is in it; raises StoreError."""
    with disk_errors(path, "what is left of it stays, so correct that and run again"):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            shutil.rmtree(path)


def files_below(top: Path) -> dict[Path, Stored]:
    """Return the files below a folder, or one file; without those that others remove meanwhile. Raises StoreError."""

    def unlisted(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise unread(error.filename, error, "") from error

    found, places = {}, [(str(top.parent), list[str](), [top.name])] if top.is_file() else os.walk(top, True, unlisted)
    for path in (Path(place, name) for place, _, names in places for name in names):
        with suppress(FileNotFoundError):
            if path.is_file():
                facts = path.stat()
                found[path] = Stored(facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC), None)
    return found


def link(path: Path, target: Path) -> OSError | None:
    """Let a path be a link to another, at once; return the reason where a disk has no links, and so none is there."""
    if path.is_symlink() and path.readlink() == target:
        return None
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        temporary.symlink_to(target)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        return error
    return None


def write_text(path: Path, text: str) -> None:
    """Replace `path` with UTF-8 text; raises as `replacing`."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_parquet(path: Path, table: pa.Table) -> None:
    """Replace `path` with a zstd Parquet file. Equal rows give equal bytes. Raises as `replacing`."""
    with replacing(path) as temporary:
        pq.write_table(table.combine_chunks(), temporary, compression="zstd", row_group_size=ROWS_PER_BATCH)


def join_parquet(path: Path, schema: pa.Schema, parts: Sequence[Path]) -> str:
    """Replace `path` with the rows of several files, as `write_parquet` writes them, and return their version.

    Raises:
        StoreError: a file is damaged or has another schema, or the disk refuses.
    """
    with (
        replacing(path) as temporary,
        TableHash(schema) as version,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for rows in _batches(schema, parts):
            writer.write_table(rows, row_group_size=ROWS_PER_BATCH)
            version.add(rows)
    return version.digest


def hash_rows(path: Path, schema: pa.Schema) -> str:
    """Return the version of the rows of a file, as `join_parquet` does; raises StoreError as that."""
    with TableHash(schema) as version:
        for rows in _batches(schema, [path]):
            version.add(rows)
    return version.digest


def _batches(schema: pa.Schema, parts: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the rows of several files, ROWS_PER_BATCH at a time."""
    held, rows = [schema.empty_table()], 0
    for part in parts:
        with _reading(part), pq.ParquetFile(part) as file:
            if not file.schema_arrow.equals(schema):
                raise StoreError(f"{part} has another schema: {file.schema_arrow} instead of {schema}")
            for batch in file.iter_batches(ROWS_PER_BATCH):
                held.append(pa.table(batch))
                rows += batch.num_rows
                if rows >= ROWS_PER_BATCH:
                    whole = pa.concat_tables(held).combine_chunks()
                    yield whole.slice(0, ROWS_PER_BATCH)
                    held = [whole.slice(ROWS_PER_BATCH)]
                    rows -= ROWS_PER_BATCH
    if rows:
        yield pa.concat_tables(held).combine_chunks()


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file.

    Raises:
        StoreError: it is missing or damaged.
    """
    with _reading(path), pq.ParquetFile(path) as file:
        rows = file.read(columns)
        return rows.select(columns) if columns else rows


def read_conforming(path: Path, schema: pa.Schema) -> pa.Table:
    """Read a Parquet file of another layout: new columns are null, or empty or 0 if they cannot be; others are dropped.

    Raises:
        StoreError: as `read_parquet`, or a column has no value of today's type.
    """
    with _reading(path), pq.ParquetFile(path) as file:
        rows = file.read()
        for field in schema:
            if field.name not in rows.column_names:
                rows = rows.append_column(field, pa.repeat(_empty(field), rows.num_rows))
        return rows.select(schema.names).cast(schema)


def _empty(field: pa.Field) -> pa.Scalar:
    if field.nullable:
        return pa.scalar(None, field.type)
    if pa.types.is_string(field.type):
        return pa.scalar("", field.type)
    return pa.scalar([], field.type) if pa.types.is_list(field.type) else pa.scalar(0).cast(field.type)


def read_first(path: Path, rows: int) -> pa.Table:
    """Read the first rows of a Parquet file; raises as `read_parquet`."""
    with _reading(path), pq.ParquetFile(path) as file:
        return pa.Table.from_batches(itertools.islice(file.iter_batches(rows), 1), file.schema_arrow)


def count_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file, of which the footer is enough; raises as `read_parquet`."""
    with _reading(path):
        return int(pq.read_metadata(path).num_rows)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; run `lightrag-dagster run` to rebuild it") from error
    except (pa.ArrowException, KeyError, OSError) as error:
        raise unread(path, error, f"{one_line(error)}; delete it and run again") from error


def sync_tree(folder: Path) -> None:
    """Flush a folder and everything below it to disk.

    Raises:
        StoreError: the disk refuses.
    """
    with disk_errors(folder, "nothing was published"):
        for path in (folder, *folder.rglob("*")):
            sync(path)


def sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
