"""Documents with the same text as another of their source."""

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.stages.documents.raw_documents import with_text


def originals_of(documents: pa.Table) -> pa.Table:
    """Return `doc_id` of each document that repeats the text of one with a smaller path, and its `original`.

    Four columns of rows are enough. `sql/duplicates.sql` does the same for several shards.
    """
    texts = with_text(documents).select(["path", "doc_id", "content_hash"]).sort_by("path")
    firsts = texts.group_by("content_hash", use_threads=False).aggregate([("doc_id", "first")])
    place = pc.index_in(texts["content_hash"], firsts["content_hash"].combine_chunks())
    originals = pa.table({"doc_id": texts["doc_id"], "original": firsts["doc_id_first"].take(place)})
    return originals.filter(pc.field("doc_id") != pc.field("original"))


def without_marks(documents: pa.Table) -> pa.Table:
    """Return documents as if each were an original."""
    status = documents["status"]
    return with_columns(
        documents,
        status=pc.if_else(pc.equal(status, "duplicate"), "processed", status),
        duplicate_of=pa.nulls(documents.num_rows, pa.string()),
    )


def mark_duplicates(documents: pa.Table, originals: pa.Table) -> pa.Table:
    """Name the originals of documents, given `doc_id` and `original` of each that has one; a `stale` one stays so."""
    found = pc.index_in(documents["doc_id"], originals["doc_id"].combine_chunks())
    original = pc.take(originals["original"].combine_chunks(), found.combine_chunks())
    fresh = pc.and_(pc.is_valid(original), pc.not_equal(documents["status"], "stale"))
    return with_columns(
        documents,
        status=pc.if_else(fresh, "duplicate", documents["status"]),
        duplicate_of=pc.coalesce(original, documents["duplicate_of"]),
    )


def with_columns(documents: pa.Table, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return documents with other values in some columns."""
    for name, column in columns.items():
        place = documents.schema.get_field_index(name)
        documents = documents.set_column(place, documents.schema.field(place), column)
    return documents
