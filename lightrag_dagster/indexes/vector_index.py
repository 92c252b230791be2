"""The index of a large vector table: its vectors rounded to a byte per number; a search compares all of them.

An index that skips the partitions far from a question (IVF) is hardly faster here, and has a lower recall for questions
than for its own vectors: a short question is far from every partition.
"""

import logging
import time
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb.index import IvfSq

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.storage.manifests import SearchKind

INDEX_ROWS = 50_000
"""Least rows of an indexed table; smaller ones are compared whole, in memory."""

MAX_UNINDEXED_SHARE = 0.05
"""The index is rebuilt when it lacks more than this share of the rows."""

MIN_RECALL = 0.9
"""Share of the nearest vectors of a sample that an index must find; see `recall`."""

_SAMPLE, _NEAREST = 20, 20
_REFINE = 4
_ALL = 1_000_000
_NAME: SearchKind = "exhaustive"
_SAME_DISTANCE = 1e-5

_log = logging.getLogger(__name__)


def nearest(handle: Any, vector: Vectors, limit: int) -> Any:
    """Return a query for `id` and `_distance` of the nearest vectors, through the index if there is one.

    Args:
        handle: a LanceDB table.
        vector: the vector to search for.
        limit: maximum number of hits.
    """
    query = handle.search(vector).distance_type("cosine").select(["id", "_distance"]).limit(limit)
    # Refining compares the stored vectors of four times the candidates; the distances of the index itself are those of
    # rounded vectors.
    return query.nprobes(_ALL).refine_factor(_REFINE)


def update_index(handle: Any, table: str) -> SearchKind:
    """Index a large table when it has no index or the index lacks many rows; return the way the table is searched.

    An index with too low a recall is dropped. So every table can be searched and published; only the time of a search
    differs.
    """
    rows = handle.count_rows()
    if rows < INDEX_ROWS:
        return "flat"
    index = next(iter(handle.list_indices()), None)
    if index is not None and index.name == _NAME and index.num_unindexed_rows <= MAX_UNINDEXED_SHARE * rows:
        return _NAME
    if index is not None:
        handle.drop_index(index.name)
    started = time.monotonic()
    handle.create_index("vector", config=IvfSq(distance_type="cosine", num_partitions=1), name=_NAME)
    seconds, found = time.monotonic() - started, recall(handle, rows)
    _log.info("indexed %d rows of %s in %.1f s; recall %.3f", rows, table, seconds, found)
    if found >= MIN_RECALL:
        return _NAME
    handle.drop_index(_NAME)
    _log.warning(
        "the index of vector table %s finds %.0f%% of the nearest vectors, less than %.0f%%; using none, which is slow",
        table,
        found * 100,
        MIN_RECALL * 100,
    )
    return "flat"


def recall(handle: Any, rows: int) -> float:
    """Return the share of the 20 nearest vectors that a search finds, for a sample of the table's own vectors.

    Distances are compared, not ids: of vectors that are equally near, any will do.
    """
    offsets = np.linspace(0, rows - 1, _SAMPLE, dtype=int).tolist()
    sample = matrix(handle.take_offsets(offsets).select(["vector"]).to_arrow()["vector"])
    found = wanted = 0
    for vector in sample:
        distances = nearest(handle, vector, _NEAREST).to_arrow()["_distance"].to_numpy()
        true = nearest(handle, vector, _NEAREST).bypass_vector_index().to_arrow()["_distance"].to_numpy()
        wanted += len(true)
        found += int(np.count_nonzero(distances <= true.max(initial=0.0) + _SAME_DISTANCE))
    return found / wanted if wanted else 1.0


def matrix(column: Any) -> Vectors:
    """Return a column of vectors as an array of float32, shape (rows, dimensions)."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(array.flatten().to_numpy().reshape(len(array), array.type.list_size), dtype=np.float32)
