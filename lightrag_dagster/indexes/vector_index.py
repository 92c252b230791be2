"""The index of a large vector table: built, checked for recall, replaced where it finds too little."""

import logging
import time
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb.index import IvfSq

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.storage.manifest import SearchKind

INDEX_ROWS = 50_000
"""Tables of at least this many rows are indexed; smaller ones are compared whole, in memory."""

MAX_UNINDEXED_SHARE = 0.05
"""The index is rebuilt when it lacks more than this share of the rows."""

MIN_RECALL = 0.9
"""Share of the nearest vectors of a sample that an index must find; see `recall`."""

ROWS_PER_PARTITION = 2500
"""Rows of one partition of an index; a search compares the nearest half of all partitions."""

_SAMPLE, _NEAREST = 20, 20
_REFINE = 4
_SAME_DISTANCE = 1e-5

_log = logging.getLogger(__name__)


def nearest(handle: Any, rows: int, vector: Vectors, limit: int) -> Any:
    """Return a query for `id` and `_distance` of the nearest vectors, through the index where there is one.

    Args:
        handle: a LanceDB table.
        rows: number of its rows.
        vector: the vector to search for.
        limit: maximum number of hits.
    """
    query = handle.search(vector).distance_type("cosine").select(["id", "_distance"]).limit(limit)
    # Refining compares the stored vectors of four times as many candidates; the distances of the index itself are those
    # of rounded vectors.
    return query.nprobes(1 + _partitions(rows) // 2).refine_factor(_REFINE)


def _partitions(rows: int) -> int:
    return max(1, rows // ROWS_PER_PARTITION)


def update_index(handle: Any, table: str) -> SearchKind:
    """Index a large table when it has no index or the index lacks many rows; return how the table is searched.

    An index with too low a recall gives way to one of a single partition, of which a search skips nothing, and that one
    to none. So every table can be searched and published; only the time of a search differs.
    """
    rows = handle.count_rows()
    if rows < INDEX_ROWS:
        return "flat"
    index = next(iter(handle.list_indices()), None)
    if index is not None and index.num_unindexed_rows <= MAX_UNINDEXED_SHARE * rows:
        return "exhaustive" if index.name == "exhaustive" else "partitioned"
    if index is not None:
        handle.drop_index(index.name)
    kinds: tuple[tuple[SearchKind, int], ...] = (("partitioned", _partitions(rows)), ("exhaustive", 1))
    for kind, partitions in kinds:
        started = time.monotonic()
        # A graph of neighbours (HNSW) takes about thirty times as long to build, for searches that are no faster here.
        handle.create_index("vector", config=IvfSq(distance_type="cosine", num_partitions=partitions), name=kind)
        seconds, found = time.monotonic() - started, recall(handle, rows)
        _log.info("indexed %d rows of %s in %.1f s, %s; recall %.3f", rows, table, seconds, kind, found)
        if found >= MIN_RECALL:
            return kind
        handle.drop_index(kind)
        _log.warning(
            "the %s index of vector table %s finds %.0f%% of the nearest vectors, %.0f%% is required; using %s",
            kind,
            table,
            found * 100,
            MIN_RECALL * 100,
            "one partition, which takes longer to search" if kind == "partitioned" else "no index, which is slow",
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
        query = nearest(handle, rows, vector, _NEAREST)
        distances = query.to_arrow()["_distance"].to_numpy()
        true = nearest(handle, rows, vector, _NEAREST).bypass_vector_index().to_arrow()["_distance"].to_numpy()
        wanted += len(true)
        found += int(np.count_nonzero(distances <= true.max(initial=0.0) + _SAME_DISTANCE))
    return found / wanted if wanted else 1.0


def matrix(column: Any) -> Vectors:
    """Return a column of vectors as an array, shape (rows, dimensions)."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.flatten().to_numpy().reshape(len(array), array.type.list_size)  # type: ignore[no-any-return]
