"""Keeping the chunks of text that did not change when the way of cutting did."""

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.stages.documents.table import text_hash, with_text
from lightrag_dagster.storage.tables import SourceTables

_PLACE = ["source", "doc_id", "path"]


def keep_drifted_chunks(
    tables: SourceTables, source: str, documents: pa.Table, fingerprint: str
) -> tuple[pa.Table, pa.Table]:
    """Return what `keep_chunks` does of the source's current chunks, if they were not cut as `fingerprint` says.

    Otherwise, and where what they were cut from is no longer known, every document is left to be cut.
    """
    previous = tables.current("chunks", source)
    if previous is None or previous.fingerprint == fingerprint:
        return CHUNKS.empty_table(), documents
    cut_from = previous.inputs["raw_documents"]
    chunks = tables.read("chunks", source, previous.version)
    if chunks.schema.names != CHUNKS.names or not tables.path("raw_documents", source, cut_from).exists():
        return CHUNKS.empty_table(), documents
    return keep_chunks(documents, tables.read("raw_documents", source, cut_from), chunks)


def keep_chunks(documents: pa.Table, before: pa.Table, chunks: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Give documents whose text had chunks before those chunks again.

    Args:
        documents: rows of RAW_DOCUMENTS now.
        before: rows of RAW_DOCUMENTS that `chunks` were cut from.
        chunks: rows of CHUNKS, of the same source.

    Returns:
        Rows of CHUNKS, each at the place of its document now, and the rows of RAW_DOCUMENTS that are left to be cut. A
        renamed or copied document is one whose text had chunks.
    """
    now = _with_hash(documents)
    earlier = _with_hash(before).group_by("text_hash").aggregate([("doc_id", "min")])
    known = now.select([*_PLACE, "text_hash"]).join(earlier, "text_hash", join_type="inner").drop_columns("text_hash")
    kept = (
        chunks.drop_columns(_PLACE)
        .append_column("doc_id_min", chunks["doc_id"])
        .join(known, "doc_id_min", join_type="inner")
    )
    left = with_text(documents)
    left = left.filter(pc.invert(pc.is_in(left["doc_id"], known["doc_id"])))
    return kept.select(CHUNKS.names).cast(CHUNKS), left


def _with_hash(documents: pa.Table) -> pa.Table:
    rows = with_text(documents)
    hashes = [text_hash(row) for row in rows.select(["content_hash", "media_type", "pages"]).to_pylist()]
    return rows.select(_PLACE).append_column("text_hash", pa.array(hashes, pa.string()))
