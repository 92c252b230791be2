"""Documents with the same text as another of their source, and sketches of texts to find those of nearly the same.

A sketch is a MinHash (Broder 1997). A shingle is five words in a row; the share of places at which two sketches are
equal estimates how many shingles both texts have, of all that either has. `sql/similar.sql` compares them.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.reading_schemas import STAMPS
from lightrag_dagster.stages.documents.raw_documents import with_text

PLACES = 64
"""Length of a sketch: a similarity of 0.8 is estimated to about 0.05."""

_SHINGLE = 5
_SEED = 1
_LONGEST_WORD = 20  # a text with a longer average has no spaces; characters take the place of words


def mark_repeats(documents: pa.Table) -> pa.Table:
    """Name the original of every document that repeats the text of one with a smaller path; a stale one stays `stale`.

    `sql/duplicates.sql` does the same for several shards.
    """
    texts = with_text(documents).select(["path", "doc_id", "content_hash"]).sort_by("path")
    firsts = texts.group_by("content_hash", use_threads=False).aggregate([("doc_id", "first")])
    place = pc.index_in(texts["content_hash"], firsts["content_hash"].combine_chunks())
    originals = pa.table({"doc_id": texts["doc_id"], "original": firsts["doc_id_first"].take(place)})
    return mark_duplicates(documents, originals.filter(pc.field("doc_id") != pc.field("original")))


def without_marks(documents: pa.Table) -> pa.Table:
    """Return documents as if each were an original."""
    status = documents["status"]
    return _with_columns(
        documents,
        status=pc.if_else(pc.equal(status, "duplicate"), "processed", status),
        duplicate_of=pa.nulls(documents.num_rows, pa.string()),
    )


def mark_duplicates(documents: pa.Table, originals: pa.Table) -> pa.Table:
    """Name the original of documents whose text is in another shard; `originals` has `doc_id` and `original`."""
    found = pc.index_in(documents["doc_id"], originals["doc_id"].combine_chunks())
    original = pc.take(originals["original"].combine_chunks(), found.combine_chunks())
    fresh = pc.and_(pc.is_valid(original), pc.not_equal(documents["status"], "stale"))
    return _with_columns(
        documents,
        status=pc.if_else(fresh, "duplicate", documents["status"]),
        duplicate_of=pc.coalesce(original, documents["duplicate_of"]),
    )


def sketch(text: str) -> list[int] | None:
    """Return the sketch of a text, ignoring case and spacing; None for one shorter than a shingle."""
    from rensa import RMinHash

    units = text.casefold().split()
    if len(text) > _LONGEST_WORD * len(units):
        units = [character for unit in units for character in unit]
    if len(units) < _SHINGLE:
        return None
    minima = RMinHash(num_perm=PLACES, seed=_SEED)
    minima.update([" ".join(units[start : start + _SHINGLE]) for start in range(len(units) - _SHINGLE + 1)])
    found: list[int] = minima.digest()
    return found


def add_sketches(stamps: pa.Table, documents: pa.Table, before: pa.Table) -> pa.Table:
    """Return STAMPS with the sketches of their documents; those `before` of the same bytes are reused."""
    known = dict(zip(before["doc_id"].to_pylist(), zip(before["digest"], before["sketch"], strict=True), strict=True))
    unknown = (pa.scalar(None, pa.string()), pa.scalar(None))
    texts = documents.select(["doc_id", "content"])
    contents = dict(zip(texts["doc_id"].to_pylist(), texts["content"], strict=True))
    sketches = []
    for doc_id, digest in zip(stamps["doc_id"].to_pylist(), stamps["digest"], strict=True):
        same, found = known.get(doc_id, unknown)
        kept = same == digest and found.is_valid
        sketches.append(found.as_py() if kept else sketch(contents[doc_id].as_py()))
    place = STAMPS.get_field_index("sketch")
    return stamps.set_column(place, STAMPS.field(place), pa.array(sketches, STAMPS.field(place).type))


def _with_columns(documents: pa.Table, **columns: pa.ChunkedArray) -> pa.Table:
    for name, column in columns.items():
        place = documents.schema.get_field_index(name)
        documents = documents.set_column(place, documents.schema.field(place), column)
    return documents
