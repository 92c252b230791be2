"""Schemas of what is kept of a reading beside its documents, so that the next one reads little.

They go with a version of RAW_DOCUMENTS and are not part of its rows: copies of a source have other stamps and the same
documents.
"""

import pyarrow as pa

from lightrag_dagster.schemas import column, table

STAMPS = table(
    column("doc_id", pa.string(), "A document that was read."),
    column("stamp", pa.string(), "Its stamp then; empty if a later change may have the same."),
    column("digest", pa.string(), "Hash of what was read."),
)
"""The state of documents when they were read."""

LISTED = table(
    column("doc_id", pa.string(), "A document that is listed."),
    column("path", pa.string(), "Its path in the source."),
    column("place", pa.string(), "Its place for the connector; empty if it is refused."),
    column("size", pa.int64(), "Its size in bytes."),
    column("modified_at", pa.timestamp("us", "UTC"), "When it was last changed."),
    column("stamp", pa.string(), "A text that changes when the document is touched."),
    column("stamp_is_stable", pa.bool_(), "Every later change would change the stamp."),
    column("refused", pa.string(), "The reason not to read it.", nullable=True),
    column("kind", pa.string(), "The suffix of its format, if the path has none."),
    column("content", pa.binary(), "The whole document, if the listing has it.", nullable=True),
    column("access", pa.list_(pa.string()), "Who may see it, or a template of that.", nullable=True),
    column("sidecar", pa.string(), "The place of the file beside it that says so.", nullable=True),
)
"""A listing of a source: the columns of ListedFile, and the id of the document. It is kept, beside the stamps, of a
source that can tell what changed since: with `content` only of documents that are to be read again."""

LISTING_STATE: dict[str, pa.Schema] = {"stamps": STAMPS, "listed": LISTED}
"""Tables by their names; rows are sorted by `doc_id`."""
