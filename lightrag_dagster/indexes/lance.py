"""Vector tables in LanceDB, read at a tagged version.

LanceDB does not survive a fork. In a process whose parent had used it, it ends the process with a segmentation fault or
hangs, also in tables that are opened there, and again when the process ends. So it is not used there.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import ClosedError, EmbeddingError, StoreError, one_line
from lightrag_dagster.indexes import vector_index
from lightrag_dagster.indexes.arrays import find_sorted
from lightrag_dagster.indexes.vector_index import matrix, nearest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable
from lightrag_dagster.storage.snapshots.lance_files import tagged_version

INDEX_CACHE, METADATA_CACHE = 1 << 30, 128 << 20
"""Most that LanceDB caches in one process, for all tables and versions together. Bytes."""


class VectorReader:
    """One tagged version of a vector table."""

    def __init__(self, handle: Any, entry: VectorTable, before: Callable[[], None] | None = None) -> None:
        """Take an open table, and what to call before it is first read."""
        self._opened = handle
        self._entry = entry
        self._before = before
        self._reading = threading.RLock()
        self._compared: tuple[list[str], Vectors] | None = None
        self._found: tuple[npt.NDArray[np.bytes_], npt.NDArray[np.uint64]] | None = None

    @property
    def _handle(self) -> Any:
        """The open table; what is to be done before it is read is done, or raises."""
        if before := self._before:
            before()
            self._before = None
        return self._opened

    def rows(self, columns: Sequence[str] = ("id", "embedding_key", "vector")) -> pa.Table:
        """Return some columns of every row, in no order."""
        with lance_errors(self._entry.table):
            return self._handle.search().select(list(columns)).to_arrow()

    def keys(self) -> pa.RecordBatchReader:
        """Return a reader of `id` and `embedding_key` of every row, in no order."""
        with lance_errors(self._entry.table):
            return self._handle.search().select(["id", "embedding_key"]).to_batches()

    def search(self, vector: Vectors, limit: int, threshold: float) -> list[tuple[str, float]]:
        """Return ids and cosine similarities of the nearest vectors, best first, ties by id.

        Args:
            vector: the vector to search for; a zero vector is near nothing.
            limit: maximum number of hits.
            threshold: minimum similarity, -1 to 1.

        Raises:
            EmbeddingError: the vector has another size than those of the table.
        """
        if len(vector) != self._entry.dimensions:
            raise EmbeddingError(
                f"the question's vector has {len(vector)} numbers, those of {self._entry.table} "
                f"{self._entry.dimensions}; ask with the embedding settings it was built with"
            )
        limit = min(limit, self._entry.rows)
        # In memory it takes a tenth of LanceDB's time. A large table without an index would not fit there.
        if self._entry.rows < vector_index.INDEX_ROWS:
            ids, vectors = self._all
            return compare_all(ids, vectors, _unit(vector[None])[0], limit, threshold)
        fetched = limit + 10
        while limit > 0:
            with lance_errors(self._entry.table):
                found = nearest(self._handle, vector, fetched).to_arrow()
            hits = list(zip(found["id"].to_pylist(), (1.0 - found["_distance"].to_numpy()).tolist(), strict=True))
            # LanceDB returns any of several equal hits, so fetch more until all of them are there to be sorted.
            if len(hits) < fetched or hits[-1][1] < hits[limit - 1][1]:
                hits.sort(key=lambda hit: (-hit[1], hit[0]))
                return [hit for hit in hits[:limit] if hit[1] >= threshold]
            fetched *= 2
        return []

    @property
    def _all(self) -> tuple[list[str], Vectors]:
        """The ids, sorted, and the unit vectors."""
        with self._reading:  # not `cached_property`: in Python 3.11, all tables would wait for the same lock
            if self._compared is None:
                ids, _ = self._row_ids
                vectors = np.empty((len(ids), self._entry.dimensions), dtype=np.float32)
                for block, found in self.blocks():  # so that no second copy is ever in memory
                    vectors[np.searchsorted(ids, np.array(block, dtype=ids.dtype))] = _unit(found)
                self._compared = ids.astype(str).tolist(), vectors
            return self._compared

    def blocks(self) -> Iterator[tuple[list[str], Vectors]]:
        """Yield the ids and vectors of all rows."""
        with lance_errors(self._entry.table):
            for batch in self._handle.search().select(["id", "vector"]).to_batches():
                yield batch["id"].to_pylist(), matrix(batch["vector"])

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the unit vectors of those of the ids that the table holds."""
        known, row_ids = self._row_ids
        wanted = np.array(ids, dtype=np.bytes_)
        places, here = find_sorted(known, wanted)
        if compared := self._compared:  # its rows are those of `_row_ids`, and memory takes a hundredth of the time
            return dict(zip(wanted[here].astype(str).tolist(), compared[1][places[here]], strict=True))
        held = dict(zip(row_ids[places[here]].tolist(), wanted[here].astype(str).tolist(), strict=True))
        if not held:
            return {}
        with lance_errors(self._entry.table):
            found = self._handle.take_row_ids(list(held)).select(["vector"]).with_row_id().to_arrow()
        named = (held[row_id] for row_id in found["_rowid"].to_pylist())
        return dict(zip(named, _unit(matrix(found["vector"])), strict=True))

    @property
    def _row_ids(self) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.uint64]]:
        """The ids, sorted, and LanceDB's row ids of them: looking these up is ten times faster than a filter."""
        with self._reading:
            if self._found is None:
                with lance_errors(self._entry.table):
                    found = self._handle.search().select(["id"]).with_row_id(True).to_arrow()
                ids = np.array(found["id"].to_pylist(), dtype=np.bytes_)
                order = np.argsort(ids)
                self._found = ids[order], found["_rowid"].to_numpy()[order]
            return self._found

    def unusable(self) -> list[str]:
        """Return the ids of vectors with a number that is not finite, reading block by block."""
        damaged = ((ids, np.flatnonzero(~np.isfinite(vectors).all(axis=1))) for ids, vectors in self.blocks())
        return [ids[row] for ids, rows in damaged for row in rows]

    def close(self) -> None:
        """Free the vectors in memory and the table; the reader cannot be used again."""
        for name in ("_compared", "_found", "_opened", "_before"):
            self.__dict__.pop(name, None)


def compare_all(
    ids: Sequence[str], vectors: Vectors, vector: Vectors, limit: int, threshold: float
) -> list[tuple[str, float]]:
    """Compare a vector with all unit vectors; return ids and similarities as `VectorReader.search`, ties in order."""
    # Not `@`: the threads of its library keep spinning afterwards, which slows concurrent searches.
    similarities = np.einsum("ij,j->i", vectors, vector)
    near = np.flatnonzero(similarities >= threshold)
    if len(near) > limit > 0:
        near = near[similarities[near] >= np.partition(similarities[near], -limit)[-limit]]
    best = near[np.argsort(-similarities[near], kind="stable")][:limit]
    return [(ids[row], float(similarities[row])) for row in best.tolist()]


def open_vectors(home: Home, entry: VectorTable, check: Callable[[Path], None] | None = None) -> VectorReader:
    """Open the version that a manifest names; raises StoreError when it is missing or damaged.

    If given, `check` gets its folder before it is read for the first time.
    """
    with lance_errors(entry.table), ThreadPoolExecutor(1) as beside:
        version = beside.submit(tagged_version, home, entry)  # LanceDB asks a bucket three times for a tag
        handle = open_database(home).open_table(entry.table)
        handle.checkout(version.result())
    size = handle.schema.field("vector").type.list_size
    if size != entry.dimensions:
        raise StoreError(f"vector table {entry.table} holds vectors of {size}, its manifest says {entry.dimensions}")
    return VectorReader(handle, entry, partial(check, home.lance / f"{entry.table}.lance") if check else None)


def open_all_vectors(
    home: Home, entries: Mapping[str, VectorTable], check: Callable[[Path], None] | None = None
) -> dict[str, VectorReader]:
    """Open several tables at once, each as `open_vectors`: in a bucket, opening is a row of requests."""
    with ThreadPoolExecutor(max(1, len(entries))) as threads:
        return dict(zip(entries, threads.map(partial(open_vectors, home, check=check), entries.values()), strict=True))


_used_before_fork = False


class _EndOfLanceDB:
    """An object equal to LanceDB's exit handler, which waits for threads that a fork left behind."""

    def __eq__(self, other: object) -> bool:
        return getattr(other, "__name__", "") == "shutdown_runtime"

    __hash__ = None  # type: ignore[assignment]


def _forked() -> None:
    global _used_before_fork
    _used_before_fork = True
    atexit.unregister(_EndOfLanceDB())  # type: ignore[arg-type]


@cache
def _session() -> lancedb.Session:
    """Return the caches of this process. A connection without one may keep 7 GB of its own."""
    os.register_at_fork(after_in_child=_forked)
    return lancedb.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE)


def open_database(home: Home) -> Any:
    """Return the LanceDB database of a home, with the caches of this process.

    Raises:
        ClosedError: this process was forked from one that had used LanceDB.
    """
    if _used_before_fork:
        raise ClosedError(
            "this process was forked from one that had a knowledge base open, which LanceDB does not survive; open it"
            " only after the fork, or start processes by spawn or forkserver"
        )
    return _connect(home.lance_uri)


@lru_cache(maxsize=8)
def _connect(uri: str) -> Any:
    return lancedb.connect(uri, session=_session())


def _unit(vectors: Vectors) -> Vectors:
    """Return vectors scaled to length 1; a zero vector becomes NaN, which is near nothing."""
    with np.errstate(invalid="ignore"):
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@contextmanager
def lance_errors(table: str) -> Iterator[None]:
    """Raise LanceDB's errors in the block as a StoreError that names the table."""
    try:
        yield
    except (RuntimeError, ValueError, OSError, pa.ArrowException) as error:
        raise StoreError(
            f"vector table {table} cannot be used: {one_line(error)}; open the knowledge base again, or restore the "
            "home and run again"
        ) from error
