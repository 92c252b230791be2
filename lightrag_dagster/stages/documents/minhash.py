"""Sketches of texts, to find documents of nearly the same text.

A sketch is a MinHash (Broder 1997). A shingle is five words in a row; the share of places at which two sketches are
equal estimates how many shingles both texts have, of all that either has. `sql/similar.sql` compares them.
"""

import pyarrow as pa

from lightrag_dagster.reading_schemas import STAMPS

PLACES = 64
"""Length of a sketch: a similarity of 0.8 is estimated to about 0.05."""

_SHINGLE = 5
_SEED = 1
_LONGEST_WORD = 20  # a text with a longer average has no spaces; characters take the place of words


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
