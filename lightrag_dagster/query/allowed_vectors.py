"""Vector search among allowed rows alone."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.indexes.adjacency import KeyedTable
from lightrag_dagster.indexes.lance import compare_all
from lightrag_dagster.query.snapshot import VectorSearch

_FLAT_ROWS = 20_000
"""Up to this many allowed vectors are kept in memory and all compared: 80 MiB at 1,024 dimensions."""


class AllowedVectors:
    """A vector table of which only some rows may be found. It implements `VectorSearch`."""

    def __init__(self, reader: VectorSearch, table: KeyedTable, allowed: npt.NDArray[np.bool_]) -> None:
        """Take the vectors of a table's rows, and a mask of those rows."""
        self._reader = reader
        self._table = table
        self._allowed = allowed

    def search(self, vector: Vectors, limit: int, threshold: float) -> list[tuple[str, float]]:
        """Return ids and cosine similarities of the nearest allowed vectors; see `VectorSearch.search`."""
        number = int(self._allowed.sum())
        if not number or not vector.any():
            return []
        if number <= _FLAT_ROWS:
            ids, vectors = self._flat
            return compare_all(ids, vectors, vector, limit, threshold)
        fetched = limit * len(self._allowed) // number + limit
        while True:
            found = self._reader.search(vector, fetched, threshold)
            rows = self._table.rows_of([one for one, _ in found])
            hits = [hit for hit, allowed in zip(found, self._allowed[rows].tolist(), strict=True) if allowed]
            if len(hits) >= limit or len(found) < fetched:
                return hits[:limit]
            fetched *= 2

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of those of the ids that the table holds."""
        return self._reader.vectors(ids)

    def close(self) -> None:
        """Free the allowed vectors; the reader is the whole snapshot's to close."""
        self.__dict__.pop("_flat", None)

    @cached_property
    def _flat(self) -> tuple[list[str], Vectors]:
        """The allowed ids, sorted, and their vectors."""
        vectors = self._reader.vectors(self._table.ids_at(np.flatnonzero(self._allowed).astype(np.int32)))
        ids = sorted(vectors)
        return ids, np.stack([vectors[one] for one in ids])
