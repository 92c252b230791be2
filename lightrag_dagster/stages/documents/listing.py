"""The documents of a source at one time, and a hash that detects a change."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lightrag_dagster.core import identity
from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.listing_schemas import LISTED
from lightrag_dagster.stages.documents.connectors.access import access_of_missed, with_access
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, Incremental, ListedFile, Since, escaped, placed
from lightrag_dagster.stages.documents.connectors.partitions import ChangedPartitions, Partitioned
from lightrag_dagster.stages.documents.connectors.rows import SUFFIXES
from lightrag_dagster.stages.documents.kinds import with_kind
from lightrag_dagster.stages.documents.sources import Source

_FILES_AT_ONCE = 8_192
_BYTES_AT_ONCE = 16 << 20
_SIGNATURES = 1 << 128
_MISSED = "missed"  # a stamp that no reading has, so that it is read
_COLUMNS = [field.name for field in fields(ListedFile)]


class Earlier(NamedTuple):
    """An earlier listing of a source that can tell what changed since: the state of its place, and files of LISTED.

    `documents` are files of RAW_DOCUMENTS as they were read before, and `access` is of the state of their listing.
    """

    state: Mapping[str, str] = {}
    files: Sequence[Path] = ()
    documents: Sequence[Path] = ()
    access: str | None = None


def list_files(source: Source) -> Iterator[ListedFile]:
    """Yield the source's documents in any order.

    Raises:
        SourceError: they cannot be listed.
    """
    yield from _listed(source, source.origin.files)


def _listed(source: Source, files: Callable[[], Iterator[ListedFile]]) -> Iterator[ListedFile]:
    with _withheld(source):
        kind_at = 1 if isinstance(source.origin, Partitioned) else 0  # globs are of the path below a partition
        found: Iterator[ListedFile] = map(placed, files())
        found = with_access(source.name, source.access, found, below=kind_at) if source.access else found
        yield from (with_kind(one, source.kinds, below=kind_at) for one in found)


@contextmanager
def _withheld(source: Source) -> Iterator[None]:
    """Raise any error of a listing as SourceError."""
    try:
        yield
    except SourceError:
        raise
    except (Exception, SystemExit) as error:  # libraries raise any kind; a source costs itself alone
        reason = getattr(error, "strerror", None) or one_line(error) or type(error).__name__
        place = getattr(error, "filename", None) or source.origin.name  # the sub-folder that is closed
        raise SourceError(
            f"source {source.name!r}: {escaped(str(place))} cannot be listed: {reason}; nothing was changed. "
            "Correct that and run again"
        ) from error


def source_signature(source: Source, state: Mapping[str, str]) -> str:
    """Return the signature of the listing that would be made now, given the state of an earlier one.

    Nothing is read of a partitioned asset, and little of rows with a watermark; all other sources are listed. Raises
    SourceError as `list_files`.
    """
    if isinstance(source.origin, Partitioned):
        return digest(source.origin.state)
    if isinstance(source.origin, Incremental):
        since = source.origin.since(state)
        deque(_listed(source, since.files), 0)
        return digest(since.state)
    with _withheld(source):
        return listing_signature(list_files(source))


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

    `size` is in bytes; `signature` is that of `source_signature`. `state` is that of a place which can tell what
    changed since an earlier listing: then the rows of what did not are those of the earlier one.
    """

    def __init__(self, source: Source, path: Path, earlier: Earlier | None = None) -> None:
        """List a source into the file `path`; raises SourceError as `list_files`."""
        self.path, self.count, self.size, self.state, total = path, 0, 0, dict[str, str](), 0
        earlier, origin = earlier or Earlier(), source.origin
        since = origin.since(earlier.state) if isinstance(origin, Incremental) else None
        with pq.ParquetWriter(path, LISTED, compression="lz4") as writer:
            for batch in _batches(_listed(source, since.files if since else origin.files)):
                with _withheld(source):  # a name that another package gives may be no text
                    total, rows = total + int(listing_signature(batch), 16), rows_of(source, batch)
                self._write(writer, rows)
            for rows in chain(_kept(earlier, since), _missed(source, earlier, since)) if since else ():
                self._write(writer, rows)
        self.state = dict(since.state) if since else {}
        self.signature = digest(self.state) if since else f"{total % _SIGNATURES:032x}"

    def _write(self, writer: pq.ParquetWriter, rows: pa.RecordBatch) -> None:
        self.count += len(rows)
        self.size += pc.sum(rows["size"]).as_py() or 0
        writer.write_batch(rows)


def rows_of(source: Source, files: Iterable[ListedFile]) -> pa.RecordBatch:
    """Return documents as rows of LISTED."""
    found = list(files)
    ids = [identity.document_id(source.name, one.path) for one in found]
    columns = [pa.array([getattr(one, field.name) for one in found], field.type) for field in LISTED.remove(0)]
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.string()), *columns], schema=LISTED)


def _kept(earlier: Earlier, since: Since) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an earlier listing whose documents are as they were."""
    for path in earlier.files:
        for rows in pq.ParquetFile(path).iter_batches(_FILES_AT_ONCE):
            yield rows.filter(since.keeps(rows["path"])).cast(LISTED)


def _missed(source: Source, earlier: Earlier, since: Since) -> Iterator[pa.RecordBatch]:
    """Yield the documents that cannot be listed now, without a place: reading one fails, so that it stays as it was.

    If other settings than before say who may see it, and need more than the path for that, it is not known.
    """
    if not isinstance(since, ChangedPartitions):  # no other place misses any
        return
    settings, same = since.origin.settings, earlier.access == since.state.get("access")
    kind = SUFFIXES[settings.rows.format] if settings.rows else ""
    for file in earlier.documents:
        for rows in pq.ParquetFile(file).iter_batches(_FILES_AT_ONCE, columns=["path", "access"]):
            missed = rows.filter(since.misses(rows["path"])).to_pylist()
            known = ((one["path"], one.get("access") if same else None) for one in missed)
            who = ((path, access_of_missed(settings.access, path.partition("/")[2], old)) for path, old in known)
            files = (ListedFile(path, "", 0, EPOCH, _MISSED, False, kind=kind, access=one) for path, one in who)
            yield rows_of(source, (with_kind(one, source.kinds, below=1) for one in files))


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


def to_replay(source: Source, listed: pa.Table, stamps: pa.Table) -> tuple[pa.Table, bool]:
    """Return rows of LISTED for later listings, in which their documents are as they are now, and if some lack content.

    The content stays of those alone that have no row of STAMPS, since they are read again; with a mask, which did not
    see all of it, of none: then the next listing is to be of everything.
    """
    done = pc.is_in(listed["doc_id"], stamps["doc_id"].combine_chunks())
    lacking = bool(source.mask) and pc.any(pc.and_(pc.invert(done), pc.is_valid(listed["content"]))).as_py()
    content = pc.if_else(pc.or_(done, bool(source.mask)), pa.scalar(None, pa.binary()), listed["content"])
    columns = {"content": content, "stamp_is_stable": pa.repeat(pa.scalar(True), len(listed))}
    return pa.table([columns.get(name, listed[name]) for name in LISTED.names], LISTED), bool(lacking)
