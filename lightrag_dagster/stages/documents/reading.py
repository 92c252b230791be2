"""The reading of new and changed documents of a source."""

import errno
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import identity, progress
from lightrag_dagster.core.in_time import map_in_order
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.listing_schemas import STAMPS
from lightrag_dagster.readers import why_skipped
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.captions import NOT_YET, Describing
from lightrag_dagster.stages.documents.connectors.access import MOST, NO_ACCESS, UNREAD, read_access, sidecar_of
from lightrag_dagster.stages.documents.connectors.origin import ListedFile, Origin
from lightrag_dagster.stages.documents.duplicates import mark_duplicates, originals_of, with_columns, without_marks
from lightrag_dagster.stages.documents.listing import files_of
from lightrag_dagster.stages.documents.masking import REFUSED, load_mask
from lightrag_dagster.stages.documents.raw_documents import UNOPENED, Slow, read_documents
from lightrag_dagster.stages.documents.sources import Source

READ = ("processed", "duplicate", "empty", "disabled")
"""Statuses of documents that are not read again while they do not change; what failed may succeed another time."""


class Read(NamedTuple):
    """RAW_DOCUMENTS and STAMPS of the listed documents, the number not opened, and the slowest others."""

    documents: pa.Table
    stamps: pa.Table
    unopened: int
    slowest: list[Slow]


def read_listed(
    source: Source,
    listed: pa.Table,
    before: tuple[pa.Table, pa.Table],
    settings: DocumentSettings,
    describing: Describing | None = None,
) -> Read:
    """Read the listed documents.

    A document is not opened if it has the stamp of an earlier reading, and not parsed if its bytes are the same. Among
    documents with the same text the one with the smallest path is the original.

    Args:
        source: The source of the documents.
        listed: Rows of LISTED.
        before: RAW_DOCUMENTS of an earlier reading, of these documents and of others, and the STAMPS of those that
            today's code would read the same; either may be empty.
        settings: The limits of reading.
        describing: Describes images.

    Raises:
        SettingsError: the function that masks cannot be imported.
        SourceError: a path occurs twice, as the ids of a table's rows may.
    """
    if pc.count_distinct(listed["doc_id"]).as_py() < len(listed):
        listed = _told_apart(source, listed)
    earlier_documents, earlier_stamps = before
    known = _known(listed, earlier_documents, earlier_stamps)
    same = known.filter(known["same"])["doc_id"]
    files = files_of(listed.filter(pc.invert(pc.is_in(listed["doc_id"], same.combine_chunks()))))
    files = [
        replace(one, refused=one.refused or why_skipped(one.file_name, images=settings.reads_images)) for one in files
    ]
    earlier = dict(zip(known["doc_id"].to_pylist(), known["digest"].to_pylist(), strict=True))
    digests = {doc_id: earlier[doc_id] for doc_id in same.to_pylist()}
    changed = _changed(source, files, settings.max_bytes + 1, earlier, digests)
    mask = load_mask(source.name, source.mask) if source.mask else None
    made, slowest = read_documents(source.name, changed, earlier_documents, settings, describing, mask)
    kept = [doc_id for doc_id, digest in digests.items() if earlier.get(doc_id) == digest]
    if kept:
        rows = earlier_documents.filter(pc.is_in(earlier_documents["doc_id"], pa.array(kept)))
        made = pa.concat_tables([made, without_marks(rows.cast(RAW_DOCUMENTS))])
    documents = _as_listed(source, files, made)
    documents = mark_duplicates(documents, originals_of(documents))
    return Read(documents, _stamps(source, listed, documents, digests), len(same), slowest)


def is_unfinished(source: Source, documents: pa.Table) -> pa.ChunkedArray:
    """Return for each row of RAW_DOCUMENTS of a source True if the next run is to try again.

    It could not be opened, as with all that are stale, or masked; or images are to be described, or the file beside it
    to be read.
    """
    masked = f"|^{re.escape(source.mask)} (failed: |returned )" if source.mask else ""
    return pc.fill_null(pc.match_substring_regex(documents["error"], f"^{UNOPENED}|{NOT_YET}|{UNREAD}{masked}"), False)


def _as_listed(source: Source, files: Sequence[ListedFile], documents: pa.Table) -> pa.Table:
    """Return rows of RAW_DOCUMENTS with the access values of these files; the others, which are as before, keep theirs.

    Those of a table have its times, also where their text is as before. A document has no value if the file beside it
    cannot be read, and its `error` says why.
    """
    asking = [one for one in files if one.sidecar is not None]
    read = _contents(source.origin, [sidecar_of(one) for one in asking], MOST + 1)
    found = {one.path: read_access((one.access or ("",))[0], *of) for one, of in zip(asking, read, strict=True)}
    now = {one.path: found.get(one.path, (one.access or (), None)) for one in files}
    times = {one.path: one.modified_at for one in files if one.content is not None}
    rows, at = documents.select(["path", "access", "error"]).to_pylist(), documents["modified_at"]
    said = [now.get(row["path"], (row["access"], None)) for row in rows]
    errors = ["; ".join(filter(None, (row["error"], why))) or None for row, (_, why) in zip(rows, said, strict=True)]
    access = pa.array([list(values or ()) or None for values, _ in said], documents.schema.field("access").type)
    if times:
        at = pa.array([times.get(row["path"], was) for row, was in zip(rows, at.to_pylist(), strict=True)], at.type)
    return with_columns(documents, access=access, error=pa.array(errors, pa.string()), modified_at=at)


def _told_apart(source: Source, listed: pa.Table) -> pa.Table:
    """Return rows of LISTED with one for each path: that which can be read, else the first one that is refused.

    A name that is refused may be shown as that of another file. Raises SourceError if two can be read.
    """
    listed = listed.append_column("number", pa.array(range(len(listed))))
    readable = listed.filter(pc.is_null(listed["refused"]))
    counts = readable["path"].value_counts()
    if repeated := pc.min(counts.field("values").filter(pc.greater(counts.field("counts"), 1))).as_py():
        raise SourceError(
            f"source {source.name!r}: several documents of {source.origin.name} have the id {repeated!r}; nothing "
            "was changed. Make ids unique and run again"
        )
    others = listed.filter(pc.invert(pc.is_in(listed["doc_id"], readable["doc_id"].combine_chunks())))
    refused = others.group_by("doc_id").aggregate([("number", "min")])["number_min"]
    kept = pa.chunked_array([*readable["number"].chunks, *refused.chunks], pa.int64())
    return listed.take(pc.take(kept, pc.sort_indices(kept))).drop_columns("number")


def _known(listed: pa.Table, documents: pa.Table, earlier: pa.Table) -> pa.Table:
    """Return doc_id and digest of the listed documents that were read before, and `same` for an equal stamp."""
    place = pc.index_in(listed["doc_id"], earlier["doc_id"].combine_chunks()).combine_chunks()
    stamps = earlier.select(["stamp", "digest"]).take(place)
    same = pc.and_(pc.equal(stamps["stamp"], listed["stamp"]), pc.is_null(listed["refused"]))
    known = pa.table({"doc_id": listed["doc_id"], "digest": stamps["digest"], "same": same})
    return known.filter(pc.and_(pc.is_valid(place), pc.is_in(known["doc_id"], documents["doc_id"].combine_chunks())))


def _changed(
    source: Source, files: Sequence[ListedFile], most: int, earlier: Mapping[str, str], digests: dict[str, str]
) -> Iterator[tuple[ListedFile, bytes | OSError]]:
    """Read files and yield those whose bytes differ from `earlier`; add a hash of the bytes to `digests`."""
    done = len(digests)
    for position, (listed, data) in enumerate(_contents(source.origin, files, most), start=1):
        progress.report("documents", done + position, done + len(files))
        if listed.refused is None and isinstance(data, bytes):
            doc_id = identity.document_id(source.name, listed.path)
            digests[doc_id] = _digest(data, listed.kind)
            if earlier.get(doc_id) == digests[doc_id]:
                continue
        yield listed, data


def _digest(data: bytes, kind: str) -> str:
    """Return a hash of what decides how a file is read: its bytes, and its format where the path does not end so."""
    found = hashlib.sha256(data)
    found.update(kind.encode())
    return found.hexdigest()


def _contents(origin: Origin, files: Sequence[ListedFile], most: int) -> Iterator[tuple[ListedFile, bytes | OSError]]:
    """Read files, several at a time, in their order."""
    read = map_in_order(lambda listed: _read(origin, listed, most), files, origin.at_once, origin.at_once)
    return zip(files, read, strict=True)


def _read(origin: Origin, listed: ListedFile, most: int) -> bytes | OSError:
    try:
        return origin.read(listed, most) if listed.refused is None else b""
    except OSError as error:
        return error
    except (Exception, SystemExit) as error:  # libraries raise any kind; a document costs itself alone
        return OSError(errno.EIO, one_line(error) or type(error).__name__)


def _stamps(source: Source, listed: pa.Table, documents: pa.Table, digests: Mapping[str, str]) -> pa.Table:
    done = pc.and_(pc.is_in(documents["status"], pa.array(READ)), pc.invert(is_unfinished(source, documents)))
    opened = pc.is_in(documents["doc_id"], pa.array(digests, pa.string()))
    done = pc.or_(done, pc.and_(pc.equal(documents["status"], "skipped"), opened))  # by its content, which stays
    if source.mask:  # what it refuses is not kept to be read again, and so nowhere
        refused = pc.starts_with(documents["error"], f"{source.mask} {REFUSED}")
        done = pc.or_(done, pc.fill_null(pc.and_(pc.equal(documents["status"], "failed"), refused), False))
    done = pc.and_(done, pc.invert(pc.fill_null(pc.match_substring(documents["error"], NO_ACCESS), False)))
    rows = listed.filter(pc.is_in(listed["doc_id"], documents.filter(done)["doc_id"].combine_chunks()))
    stamp = pc.if_else(rows["stamp_is_stable"], rows["stamp"], "")
    digest = pa.array([digests[doc_id] for doc_id in rows["doc_id"].to_pylist()], pa.string())
    return pa.table([rows["doc_id"], stamp, digest], STAMPS)
