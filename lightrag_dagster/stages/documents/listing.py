"""The documents of a source at one time, and a hash that detects a change."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core import identity
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.stages.documents.connectors.origin import ListedFile
from lightrag_dagster.stages.documents.sources import Source

_FILES_AT_ONCE = 8_192
_BYTES_AT_ONCE = 16 << 20
_SIGNATURES = 1 << 128
LISTED = pa.schema(
    [
        ("doc_id", pa.string()),
        ("path", pa.string()),
        ("place", pa.string()),
        ("size", pa.int64()),
        ("modified_at", pa.timestamp("us", "UTC")),
        ("stamp", pa.string()),
        ("stamp_is_stable", pa.bool_()),
        ("refused", pa.string()),
        ("kind", pa.string()),
        ("content", pa.binary()),
    ]
)
"""Columns of a listing: those of ListedFile, and the id of the document."""

_COLUMNS = [field.name for field in fields(ListedFile)]


def list_files(source: Source) -> Iterator[ListedFile]:
    """Yield the source's documents in any order.

    Raises:
        SourceError: they cannot be listed.
    """
    try:
        yield from source.origin.files()
    except SourceError:
        raise
    except Exception as error:  # libraries raise many kinds, and a source that cannot be listed costs itself alone
        reason = getattr(error, "strerror", None) or one_line(error) or type(error).__name__
        raise SourceError(
            f"source {source.name!r}: {source.origin.name} cannot be listed: {reason}; nothing was changed. "
            "Correct that and run again"
        ) from error


def listing_signature(files: Iterable[ListedFile]) -> str:
    """Return a hash of path, size and stamp of every document: equal when none was touched.

    They may come in any order: it is the sum of a hash for each.
    """
    total = 0
    for listed in files:
        facts = f"{listed.path}\0{listed.size}\0{listed.stamp}\0{listed.refused}"
        total += int.from_bytes(hashlib.blake2b(facts.encode(), digest_size=16).digest(), "big")
    return f"{total % _SIGNATURES:032x}"


class Listing:
    """The documents of a source at one time, as rows of LISTED in a Parquet file: memory does not grow with them.

    `size` is in bytes; `signature` is that of `listing_signature`.
    """

    def __init__(self, source: Source, path: Path) -> None:
        """List a source into the file `path`; raises SourceError as `list_files`."""
        self.path, self.count, self.size, total, found = path, 0, 0, 0, list_files(source)
        with pq.ParquetWriter(path, LISTED, compression="lz4") as writer:
            for batch in _batches(found):
                self.count += len(batch)
                self.size += sum(one.size for one in batch)
                total += int(listing_signature(batch), 16)
                writer.write_batch(rows_of(source, batch))
        self.signature = f"{total % _SIGNATURES:032x}"


def rows_of(source: Source, files: Iterable[ListedFile]) -> pa.RecordBatch:
    """Return documents as rows of LISTED."""
    found = list(files)
    ids = [identity.document_id(source.name, one.path) for one in found]
    columns = [pa.array([getattr(one, field.name) for one in found], field.type) for field in LISTED.remove(0)]
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.string()), *columns], schema=LISTED)


def _batches(files: Iterable[ListedFile]) -> Iterator[list[ListedFile]]:
    """Yield documents in batches, smaller ones if the listing has their content."""
    batch: list[ListedFile] = []
    size = 0
    for one in files:
        batch.append(one)
        size += len(one.content or b"")
        if len(batch) == _FILES_AT_ONCE or size > _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def files_of(listed: pa.Table) -> list[ListedFile]:
    """Return rows of a listing, sorted by path."""
    return sorted((ListedFile(**row) for row in listed.select(_COLUMNS).to_pylist()), key=lambda one: one.path)
