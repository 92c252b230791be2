"""A published snapshot, opened for questions: the graph arrays, and the vector tables at their pinned versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.storage.generations import ADJACENCY, CORPUS_STATE, Generation
from lightrag_dagster.storage.history import named, published_or_error
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.leases import Lease, door
from lightrag_dagster.storage.manifest import Manifest


class VectorSearch(Protocol):
    """What a question needs of a vector table; `stores.lance.VectorReader` describes it."""

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
    """What one snapshot holds. It never changes, and threads may share it."""

    manifest: Manifest
    generation: Generation
    graph: Adjacency
    vectors: Mapping[str, VectorSearch]
    corpus_state: Vectors | None
    lease: Lease | None = None

    def close(self) -> None:
        """Free what is in memory; the snapshot cannot be used again."""
        for table in self.vectors.values():
            table.close()


def open_snapshot(home: Home, snapshot_id: str | None) -> Snapshot:
    """Open a snapshot, the current one unless given by its id or a name of it, and take a lease on it.

    Raises:
        NoSnapshotError: nothing has been published in the home.
        StoreError: there is no snapshot of that name, or a part of it is missing or damaged.
    """
    with door(home):
        pinned = published_or_error(home) if snapshot_id is None else named(home, snapshot_id)
        lease = Lease(home, pinned.snapshot_id)
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
        lease=lease,
    )
