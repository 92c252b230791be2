"""A published snapshot, opened for questions: the graph arrays, and the vector tables at their pinned versions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.adjacency import Adjacency, KeyedTable
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.query.modes import Hits
from lightrag_dagster.query.types import Chunk, Citation, Entity, Relation
from lightrag_dagster.storage.generations import ADJACENCY, CORPUS_STATE, Generation
from lightrag_dagster.storage.history import named, published_or_error
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.leases import Lease, door
from lightrag_dagster.storage.manifest import Manifest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BLOCK = 64


class VectorSearch(Protocol):
    """The part of a vector table that a question needs; `indexes.lance.VectorReader` describes it."""

    def search(self, vector: Vectors, limit: int, threshold: float) -> list[tuple[str, float]]:
        """Return ids and cosine similarities of the nearest vectors, best first, ties by id."""
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of those of the ids that the table holds."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """The parts of one snapshot that a question needs. It never changes, and threads may share it."""

    manifest: Manifest
    generation: Generation
    graph: Adjacency
    vectors: Mapping[str, VectorSearch]
    corpus_state: Vectors | None
    lease: Lease | None = None

    def close(self) -> None:
        """Release the lease; the snapshot must not be used any more."""
        if self.lease is not None:
            self.lease.release()

    @cached_property
    def transitions(self) -> "csr_array":
        """The matrix of a random walk over the graph; see `ppr.transitions_of`. Made when first asked for."""
        from lightrag_dagster.query.ppr import transitions_of

        return transitions_of(self.graph)

    def entities(self, hits: Hits) -> Iterator[Entity]:
        """Yield the entities of some rows, with their scores; rows are read a block at a time, as they are consumed."""
        return (Entity(**row, score=score) for row, score in _rows(self.graph.entities, hits))

    def relations(self, hits: Hits) -> Iterator[Relation]:
        """Yield the relations of some rows, with their scores, likewise."""
        return (Relation(**row, score=score) for row, score in _rows(self.graph.relations, hits))

    def chunks(self, hits: Hits, rerank_scores: Mapping[int, float]) -> Iterator[Chunk]:
        """Yield the chunks of some rows, with their scores and every place where they occur."""
        for number, score in hits.items():
            (row,) = self.graph.chunks.take(np.array([number], dtype=np.int32))
            citations = tuple(Citation(**place) for place in self.graph.citations_of(number))
            first = citations[0]
            yield Chunk(
                **row,
                score=score,
                citations=citations,
                doc_id=first.doc_id,
                source=first.source,
                path=first.path,
                rerank_score=rerank_scores.get(number),
            )


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


def _rows(table: KeyedTable, hits: Hits) -> Iterator[tuple[dict[str, Any], float | None]]:
    numbers = list(hits)
    for start in range(0, len(numbers), _BLOCK):
        block = numbers[start : start + _BLOCK]
        yield from zip(table.take(np.array(block, dtype=np.int32)), (hits[number] for number in block), strict=True)
