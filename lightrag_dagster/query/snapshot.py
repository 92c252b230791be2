"""A published snapshot, opened for questions: the graph arrays, and the vector tables at their pinned versions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.storage.generations import ADJACENCY, CORPUS_STATE, MANIFEST, Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Manifest
from lightrag_dagster.storage.snapshots import named_snapshot, require_current


class VectorSearch(Protocol):
    """Vector search in one table; implemented by `indexes.lance.VectorReader`."""

    def search(self, vector: Vectors, limit: int, threshold: float) -> list[tuple[str, float]]:
        """Return ids and cosine similarities of the nearest vectors, best first, ties by id."""
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of those of the ids that the table holds."""
        ...

    def close(self) -> None:
        """Free the vectors in memory."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """An open snapshot. It never changes, and threads may share it."""

    manifest: Manifest
    generation: Generation
    graph: Adjacency
    vectors: Mapping[str, VectorSearch]
    corpus_state: Vectors | None

    def close(self) -> None:
        """Free what is in memory; the snapshot cannot be used again."""
        for table in self.vectors.values():
            table.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say of an error in the block that `gc` has removed the snapshot, if that is why; raises StoreError."""
        try:
            yield
        except StoreError as error:
            if self.generation.has(MANIFEST):
                raise
            raise _removed(self.manifest.snapshot_id) from error


def open_snapshot(home: Home, snapshot_id: str | None) -> Snapshot:
    """Open a snapshot by its id or one of its names, by default the current one.

    Raises:
        NoSnapshotError: nothing has been published in the home.
        StoreError: there is no snapshot of that name, a part of it is missing or damaged, or `gc` removed it meanwhile.
    """
    pinned = require_current(home) if snapshot_id is None else named_snapshot(home, snapshot_id)
    try:
        return _open(home, pinned)
    except StoreError as error:
        if Generation(home, pinned.snapshot_id).has(MANIFEST):
            raise
        raise _removed(pinned.snapshot_id) from error


def _open(home: Home, pinned: Manifest) -> Snapshot:
    generation = Generation(home, pinned.snapshot_id)
    state = generation.path(CORPUS_STATE)
    try:
        corpus_state = np.load(state) if state.exists() else None
    except (OSError, ValueError) as error:
        raise StoreError(f"{state} cannot be read ({error}); delete it and run again") from error
    return Snapshot(
        manifest=pinned,
        generation=generation,
        graph=Adjacency.open(generation.path(ADJACENCY)),
        vectors={name: open_vectors(home, table) for name, table in pinned.vectors.tables.items()},
        corpus_state=corpus_state,
    )


def _removed(snapshot_id: str) -> StoreError:
    return StoreError(
        f"{snapshot_id} was removed by `gc` while it was open; open the knowledge base again, and raise "
        "retention.grace_days if readers stay open longer"
    )
