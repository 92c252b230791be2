"""Vectors in LanceDB: one table in place, changed by differences, read by tag.

What is in the head is read from the head itself, never from a record of it: a run that was killed half-way leaves rows
that the next one finds, keeps or replaces. A tag pins the version that a generation means, so that whoever opened it
sees nothing of later writes.
"""

import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.index import IvfSq

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import EmbeddingError, IntegrityError, StoreError, one_line
from lightrag_dagster.schemas import vector_schema
from lightrag_dagster.storage import files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import VectorTable

INDEX_ROWS = 50_000
"""A table with at least this many rows is indexed; below, every vector is compared, in memory."""

MAX_UNINDEXED_SHARE = 0.05
"""The index is built anew when more of the rows than this are outside it."""

MIN_RECALL = 0.9
"""A new index must find at least this share of the true best hits of a sample."""

ROWS_PER_PARTITION = 2500
"""The index groups similar vectors; a search compares those of the nearest half of all groups."""

_IDS_PER_STATEMENT = 10_000
_SAMPLE = 20
_REFINE = 4

_log = logging.getLogger(__name__)


async def sync_vectors(
    home: Home,
    table: str,
    wanted: pa.Table,
    vectors_of: Callable[[list[str]], AsyncIterator[Vectors]],
    tag: str,
    dimensions: int,
) -> VectorTable:
    """Make a vector table hold exactly the wanted rows, and pin that version.

    Args:
        home: the home whose LanceDB database it is; one writer at a time.
        table: name of the vector table, created when new.
        wanted: `id`, distinct, and `embedding_fingerprint`.
        vectors_of: called once, with the ids that the table does not hold with the wanted fingerprint, sorted; yields
            their vectors in that order, in blocks of shape (rows, dimensions). Each block is written as it comes.
        tag: name for the version.
        dimensions: length of every vector.

    Raises:
        EmbeddingError: vectors of the wrong number, size or value; that block is not written.
        IntegrityError: an id is wanted twice, or a new index misses too much.
        StoreError: the table cannot be read or written, or holds vectors of another size.
    """
    wanted = wanted.select(["id", "embedding_fingerprint"])
    if pc.count_distinct(wanted.column("id")).as_py() != wanted.num_rows:
        raise IntegrityError(f"vector table {table}: an id is wanted twice; delete the generation and run again")
    with _lance_errors(table):
        handle = lancedb.connect(home.lance).create_table(table, schema=vector_schema(dimensions), exist_ok=True)
        head = handle.search().select(["id", "embedding_fingerprint"]).to_arrow()
    changed = wanted.join(head, ["id", "embedding_fingerprint"], join_type="left anti").sort_by("id")
    gone: list[str] = head.join(wanted, "id", join_type="left anti").column("id").to_pylist()
    if changed.num_rows:
        written = 0
        async for vectors in vectors_of(changed.column("id").to_pylist()):
            rows = _rows(table, changed.slice(written, len(vectors)), vectors, dimensions)
            with _lance_errors(table):
                handle.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
            written += rows.num_rows
        if written != changed.num_rows:
            raise EmbeddingError(f"{table}: {written} vectors came for {changed.num_rows} rows; run again")
    with _lance_errors(table):
        for start in range(0, len(gone), _IDS_PER_STATEMENT):
            handle.delete(_among(gone[start : start + _IDS_PER_STATEMENT]))
        _keep_index(handle, table)
        _pin(handle, tag)
    files.sync_tree(home.lance / f"{table}.lance")
    return VectorTable(
        table=table,
        tag=tag,
        rows=wanted.num_rows,
        dimensions=dimensions,
        upserted=changed.num_rows,
        deleted=len(gone),
    )


class VectorReader:
    """One pinned version of a vector table."""

    def __init__(self, handle: Any, entry: VectorTable) -> None:
        self._handle = handle
        self._entry = entry

    def rows(self, columns: Sequence[str] = ("id", "embedding_fingerprint", "vector")) -> pa.Table:
        """Return some columns of every row, in no order."""
        with _lance_errors(self._entry.table):
            return self._handle.search().select(list(columns)).to_arrow()

    def search(self, vector: Vectors, limit: int, threshold: float) -> list[tuple[str, float]]:
        """Return ids and cosine similarities of the nearest vectors, best first, ties by id.

        Args:
            vector: what to look for; a zero vector is near nothing.
            limit: at most this many.
            threshold: no less similar ones, -1 to 1.

        Raises:
            EmbeddingError: the vector has another size than those of the table.
        """
        if len(vector) != self._entry.dimensions:
            raise EmbeddingError(
                f"the question's vector has {len(vector)} numbers, those of {self._entry.table} "
                f"{self._entry.dimensions}; ask with the embedding settings it was built with"
            )
        if not self._indexed:
            ids, vectors = self._all
            return compare_all(ids, vectors, _unit(vector[None])[0], limit, threshold)
        fetched = limit + 10
        while limit > 0:
            with _lance_errors(self._entry.table):
                found = _nearest(self._handle, self._entry.rows, vector, fetched).to_arrow()
            hits = list(zip(found["id"].to_pylist(), (1.0 - found["_distance"].to_numpy()).tolist(), strict=True))
            # Which of several equal ones comes back is arbitrary, so fetch on until none of them is missing.
            if len(hits) < fetched or hits[-1][1] < hits[limit - 1][1]:
                hits.sort(key=lambda hit: (-hit[1], hit[0]))
                return [hit for hit in hits[:limit] if hit[1] >= threshold]
            fetched *= 2
        return []

    @cached_property
    def _indexed(self) -> bool:
        with _lance_errors(self._entry.table):
            return bool(self._handle.list_indices())

    @cached_property
    def _all(self) -> tuple[list[str], Vectors]:
        """The ids, sorted, and the vectors, in memory: comparing them there takes a tenth of LanceDB's time."""
        rows = self.rows(("id", "vector")).sort_by("id")
        return rows["id"].to_pylist(), _unit(_matrix(rows["vector"]))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of those of the ids that the table holds."""
        known, row_ids = self._row_ids
        wanted = np.array(ids, dtype=np.bytes_)
        places = np.searchsorted(known, wanted)
        here = places < len(known)
        here[here] = known[places[here]] == wanted[here]
        held = dict(zip(row_ids[places[here]].tolist(), wanted[here].astype(str).tolist(), strict=True))
        if not held:
            return {}
        with _lance_errors(self._entry.table):
            found = self._handle.take_row_ids(list(held)).select(["vector"]).with_row_id().to_arrow()
        named = (held[row_id] for row_id in found["_rowid"].to_pylist())
        return dict(zip(named, _matrix(found["vector"]), strict=True))

    @cached_property
    def _row_ids(self) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.uint64]]:
        """The ids of the pinned version, sorted, and where LanceDB keeps their rows: ten times faster than a filter."""
        with _lance_errors(self._entry.table):
            found = self._handle.search().select(["id"]).with_row_id(True).to_arrow()
        ids = np.array(found["id"].to_pylist(), dtype=np.bytes_)
        order = np.argsort(ids)
        return ids[order], found["_rowid"].to_numpy()[order]

    def unusable(self) -> list[str]:
        """Return the ids of vectors with a number that is not finite, reading all of them block by block."""
        unusable: list[str] = []
        with _lance_errors(self._entry.table):
            for batch in self._handle.search().select(["id", "vector"]).to_batches():
                finite = np.isfinite(_matrix(batch["vector"])).all(axis=1)
                unusable += batch["id"].filter(pa.array(~finite)).to_pylist()
        return unusable


def compare_all(
    ids: Sequence[str], vectors: Vectors, vector: Vectors, limit: int, threshold: float
) -> list[tuple[str, float]]:
    """Compare all of some unit vectors; return ids and similarities as `VectorReader.search`, ties in their order."""
    # Not `@`: the threads of its library go on waiting busily, which slows the searches beside this one.
    similarities = np.einsum("ij,j->i", vectors, vector)
    near = np.flatnonzero(similarities >= threshold)
    if len(near) > limit > 0:
        least = np.partition(similarities[near], -limit)[-limit]
        near = near[similarities[near] >= least]
    best = near[np.argsort(-similarities[near], kind="stable")][:limit]
    return [(ids[row], float(similarities[row])) for row in best.tolist()]


def open_vectors(home: Home, entry: VectorTable) -> VectorReader:
    """Open the version that a manifest pins; raises StoreError when it is missing or damaged."""
    with _lance_errors(entry.table):
        handle = lancedb.connect(home.lance).open_table(entry.table)
        handle.checkout(entry.tag)
    size = handle.schema.field("vector").type.list_size
    if size != entry.dimensions:
        raise StoreError(f"vector table {entry.table} holds vectors of {size}, its manifest says {entry.dimensions}")
    return VectorReader(handle, entry)


def _rows(table: str, block: pa.Table, vectors: Vectors, dimensions: int) -> pa.Table:
    if vectors.shape != (block.num_rows, dimensions):
        raise EmbeddingError(
            f"{table}: vectors of shape {vectors.shape} where {(block.num_rows, dimensions)} is expected; "
            "make embedding.dimensions what the model returns"
        )
    if not np.isfinite(vectors).all():
        bad = block.column("id")[int(np.isfinite(vectors).all(axis=1).argmin())]
        raise EmbeddingError(f"{table}: the vector of {bad} is not finite; check the embedding model and run again")
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, dimensions)
    return block.append_column("vector", column).cast(vector_schema(dimensions))


def _nearest(handle: Any, rows: int, vector: Vectors, limit: int) -> Any:
    query = handle.search(vector).distance_type("cosine").select(["id", "_distance"]).limit(limit)
    # Refining compares the true vectors of four times as many candidates: without it the distances that an index gives
    # are on another scale than cosine.
    return query.nprobes(1 + _partitions(rows) // 2).refine_factor(_REFINE)


def _partitions(rows: int) -> int:
    return max(1, rows // ROWS_PER_PARTITION)


def _keep_index(handle: Any, table: str) -> None:
    """Build the index when the table is large and has none, or when too many rows are outside it."""
    rows = handle.count_rows()
    outside = next((index.num_unindexed_rows for index in handle.list_indices()), rows)
    if rows < INDEX_ROWS or outside <= MAX_UNINDEXED_SHARE * rows:
        return
    started = time.monotonic()
    # A graph of neighbours (HNSW) would take some thirty times as long to build for searches that are no faster here.
    handle.create_index("vector", config=IvfSq(distance_type="cosine", num_partitions=_partitions(rows)), replace=True)
    seconds = time.monotonic() - started
    recall = _recall(handle, rows)
    _log.info("indexed %d rows of %s in %.1f s; recall %.3f", rows, table, seconds, recall)
    if recall < MIN_RECALL:
        handle.drop_index(handle.list_indices()[0].name)
        raise IntegrityError(
            f"the new index of vector table {table} finds {recall:.0%} of the nearest vectors, {MIN_RECALL:.0%} is "
            "required; it was dropped, run again to build another"
        )


def _pin(handle: Any, tag: str) -> None:
    if tag in handle.tags.list():
        handle.tags.update(tag, handle.version)
    else:
        handle.tags.create(tag, handle.version)


def _recall(handle: Any, rows: int) -> float:
    """Return the share of the 20 nearest vectors that the index finds, for a sample of the table's own."""
    offsets = np.linspace(0, rows - 1, _SAMPLE, dtype=int).tolist()
    sample = _matrix(handle.take_offsets(offsets).select(["vector"]).to_arrow()["vector"])
    found = 0
    wanted = 0
    for vector in sample:
        nearest = _nearest(handle, rows, vector, 20)
        true = set(_nearest(handle, rows, vector, 20).bypass_vector_index().to_arrow()["id"].to_pylist())
        found += len(true & set(nearest.to_arrow()["id"].to_pylist()))
        wanted += len(true)
    return found / wanted if wanted else 1.0


def _matrix(column: Any) -> Vectors:
    """Return a column of vectors as an array, shape (rows, dimensions)."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.flatten().to_numpy().reshape(len(array), array.type.list_size)  # type: ignore[no-any-return]


def _unit(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; a zero vector becomes one that is near nothing, not even itself."""
    with np.errstate(invalid="ignore"):
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _among(ids: Sequence[str]) -> str:
    return "id IN (" + ", ".join("'" + one.replace("'", "''") + "'" for one in ids) + ")"


@contextmanager
def _lance_errors(table: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, ValueError, OSError, pa.ArrowException) as error:
        raise StoreError(
            f"vector table {table} cannot be used: {one_line(error)}; restore the home, run again"
        ) from error
