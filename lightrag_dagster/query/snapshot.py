"""A published snapshot, opened for questions: the graph arrays, and the vector tables at their versions in it."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.indexes.adjacency import Adjacency, MappedTable
from lightrag_dagster.indexes.arrays import read_array
from lightrag_dagster.indexes.lance import open_all_vectors
from lightrag_dagster.query.hits import Hits
from lightrag_dagster.query.types import Chunk, Citation, Entity, Relation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration, FileChecks
from lightrag_dagster.storage.snapshots.generations import ADJACENCY, CORPUS_STATE, MANIFEST, Generation
from lightrag_dagster.storage.snapshots.readers import Mark, mark_read
from lightrag_dagster.storage.snapshots.snapshots import find_snapshot

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from lightrag_dagster.indexes.facts import FactIndex
    from lightrag_dagster.query.statements import Statements
    from lightrag_dagster.query.transitions import Steps


class VectorSearch(Protocol):
    """The part of a vector table that a question needs; `indexes.lance.VectorReader` describes it."""

    def search(self, vector: Vectors, limit: int, threshold: float) -> list[tuple[str, float]]:
        """Return ids and cosine similarities of the nearest vectors, best first, ties by id."""

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of those of the ids that the table holds."""

    def close(self) -> None:
        """Free the vectors in memory."""


@dataclass(frozen=True)
class Snapshot:
    """The parts of one snapshot that a question needs. It never changes, and threads may share it."""

    manifest: Manifest
    generation: Generation
    graph: Adjacency
    vectors: Mapping[str, VectorSearch]
    corpus_state: Vectors | None
    notes: tuple[str, ...] = ()
    """Notes for every question, such as a value of a filter that no document meets."""

    mark: Mark | None = None
    """The mark that keeps the snapshot from `gc`."""

    checks: FileChecks | None = None

    block: ClassVar[int] = 64

    def close(self) -> None:
        """Free the memory and the mark; the snapshot cannot be used again."""
        if "statements" in self.__dict__:
            self.statements.close()
        if self.mark is not None:
            self.mark.close()
        if self.checks is not None:
            self.checks.close()
        for table in self.vectors.values():
            table.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Report a removed snapshot or a damaged file, instead of what comes of it in the block; raises StoreError."""
        with _noticing_removal(self.generation), self.checks.guard() if self.checks else nullcontext():
            yield

    def checked(self, timeout: float | None = None) -> None:
        """Wait until all that was loaded is checked; large files are read beside the questions, which refuse on damage.

        Raises:
            StoreError: a file is damaged.
            TimeoutError: it takes longer than some seconds.
        """
        if self.checks is not None:
            self.checks.wait(timeout)

    @cached_property
    def transitions(self) -> "Steps":
        """The steps of a random walk over the graph. Made when first asked for."""
        from lightrag_dagster.query.transitions import transitions_of

        return transitions_of(self.graph)

    @cached_property
    def transitions_by_names(self) -> "Steps":
        """The same without counted terms, which cost each walk time and find nothing. Made when first asked for."""
        from lightrag_dagster.query.transitions import counted, transitions_of

        terms = counted(self.graph)
        return transitions_of(self.graph, ~terms) if terms.any() else self.transitions

    @cached_property
    def statements(self) -> "Statements":
        """The mentions that may be seen, for questions to the graph. Opened when first asked for."""
        from lightrag_dagster.query.statements import open_statements  # here, as retrieval needs no DuckDB

        return open_statements(self.generation)

    @cached_property
    def facts(self) -> "FactIndex | None":
        """The facts that may be seen; None if no pass was merged, or it found none. Mapped when first asked for."""
        if not self.manifest.rows.get("merged_facts"):
            return None
        from lightrag_dagster.indexes.facts import open_facts

        return open_facts(self.generation.open(ADJACENCY))

    @cached_property
    def strengths(self) -> "csr_array":
        """The matrix of 1 / weight of relations; see `walking.strengths_of`. Made when first asked for."""
        from lightrag_dagster.query.walking import strengths_of

        return strengths_of(self.graph)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.manifest.snapshot_id})"

    def entities(self, hits: Hits) -> Iterator[Entity]:
        """Yield the entities of some rows, with their scores; rows are read a block at a time, as they are consumed."""
        return (Entity(**row, score=score) for row, score in _rows(self.graph.entities, hits, self.block))

    def relations(self, hits: Hits) -> Iterator[Relation]:
        """Yield the relations of some rows, with their scores, likewise."""
        return (Relation(**row, score=score) for row, score in _rows(self.graph.relations, hits, self.block))

    def chunks(self, hits: Hits, rerank_scores: Mapping[int, float]) -> Iterator[Chunk]:
        """Yield the chunks of some rows, with their scores and every place where they occur."""
        for number, (row, score) in zip(hits, _rows(self.graph.chunks, hits, self.block), strict=True):
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
    """Open a snapshot by its id or name, by default the published one.

    Raises:
        NoSnapshotError: the home has no published snapshot, or it is of a scope that has published another.
        QueryError: there is no snapshot of that name.
        StoreError: a part of it is missing or damaged, or `gc` removed it meanwhile.
    """
    manifest = find_snapshot(home, snapshot_id)
    with _noticing_removal(Generation(home, manifest.snapshot_id)):
        generation = CheckedGeneration.of(home, manifest.snapshot_id, beside=True)
        with generation.checks.guard():
            return _open(generation, manifest)


def _open(generation: CheckedGeneration, manifest: Manifest) -> Snapshot:
    home, mark = generation.home, mark_read(generation.home, generation.id)
    with ThreadPoolExecutor(2) as beside:  # of a bucket, all are requests that take their time
        vectors = beside.submit(open_all_vectors, home, manifest.vectors.tables, generation.checks.require_folder)
        opened = beside.submit(generation.open, CORPUS_STATE)
        arrays, state = generation.open(ADJACENCY), opened.result()
    generation.checks.require_folder(home.generation(generation.id))
    try:
        corpus_state = read_array(state) if state.exists() else None
    except (OSError, ValueError) as error:
        raise StoreError(f"{state} cannot be read ({error}); run `lightrag-dagster run --verify`") from error
    return Snapshot(
        manifest=manifest,
        generation=generation,
        graph=Adjacency.open(arrays),
        vectors=vectors.result(),
        corpus_state=corpus_state,
        mark=mark,
        checks=generation.checks,
    )


@contextmanager
def _noticing_removal(generation: Generation) -> Iterator[None]:
    try:
        yield
    except (StoreError, QueryError) as error:
        generation.home.files.refresh([generation.path(MANIFEST)])
        if generation.has(MANIFEST):
            raise
        longer = "" if generation.home.scope else ", and raise retention.grace_days if readers stay open longer"
        raise StoreError(
            f"{generation.id} was removed by `gc` while it was open; open the knowledge base again{longer}"
        ) from error


def _rows(table: MappedTable, hits: Hits, at_once: int) -> Iterator[tuple[dict[str, Any], float | None]]:
    numbers = list(hits)
    for start in range(0, len(numbers), at_once):
        block = numbers[start : start + at_once]
        yield from zip(table.take(np.array(block, dtype=np.int32)), (hits[number] for number in block), strict=True)
