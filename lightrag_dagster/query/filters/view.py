"""A snapshot restricted to the documents that a filter allows.

Rows keep their numbers, so that every step and every mode works as on the whole. A row without allowed evidence is not
in any list or search result; the others are rebuilt from allowed evidence by the rules of the merge, without a model.
Only the vectors are those of the whole: they decide the order, and are never shown.
"""

from collections.abc import Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.adjacency import Adjacency, MappedTable, priority_of
from lightrag_dagster.indexes.arrays import Lists, Rows, lists_of, offsets_of
from lightrag_dagster.indexes.facts import FactIndex, facts_of
from lightrag_dagster.indexes.lance import compare_all
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.query.filters.allowed import allowed_documents
from lightrag_dagster.query.filters.evidence import Evidence
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.filters.rebuilt import Mask, Rebuilt
from lightrag_dagster.query.snapshot import Snapshot, VectorSearch
from lightrag_dagster.query.statements import Statements
from lightrag_dagster.storage.duckdb import OF_QUESTIONS, bounded, define_macros, unreadable

_NONE: Rows = np.zeros(0, dtype=np.int32)

_FLAT_ROWS = 20_000
"""Maximum number of allowed vectors that are kept in memory and all compared: 80 MiB at 1,024 dimensions."""


@dataclass(frozen=True, repr=False)
class View(Snapshot):
    """A snapshot as if it held the allowed documents alone."""

    evidence: Evidence = field(kw_only=True)
    opened: ExitStack = field(kw_only=True)
    """The database of the evidence."""

    block: ClassVar[int] = 256
    """Number of rows that are read at once: more, since each merge of missing ones takes its time."""

    @cached_property
    def statements(self) -> Statements:
        """The allowed mentions."""
        return self.evidence.statements

    @cached_property
    def facts(self) -> FactIndex | None:
        """The facts that allowed documents state, as if there were no others. Merged when first asked for."""
        if not self.manifest.rows.get("merged_facts"):
            return None
        return facts_of(self.evidence.facts(), self.graph.entities.ids)

    def close(self) -> None:
        """Free the allowed vectors and the evidence; the rest belongs to the whole snapshot."""
        super().close()
        self.opened.close()


def filtered(snapshot: Snapshot, filters: Filters) -> View:
    """Return the snapshot as if it held the allowed documents alone, merged by its own settings; the caller closes it.

    Raises:
        QueryError: a source, media type or language of the filter does not exist.
        StoreError: a table is missing or damaged.
    """
    whole = snapshot.graph
    try:
        with ExitStack() as opening:
            connection = opening.enter_context(bounded(OF_QUESTIONS))
            define_macros(connection)
            create_views(connection, snapshot.generation, temporary=False)
            documents, notes = allowed_documents(connection, filters)
            written = snapshot.generation.record().curation.written
            evidence = Evidence(connection, documents, whole, snapshot.manifest.inputs.merging, written)
            graph, allowed = _restricted(whole, documents, evidence, {one.id for one in written})
            opened = opening.pop_all()
    except duckdb.Error as error:
        raise StoreError(f"the tables of {snapshot.generation.id} cannot be filtered: {unreadable(error)}") from error
    tables = {"chunk_vectors": whole.chunks, "entity_vectors": whole.entities, "relation_vectors": whole.relations}
    vectors = {name: AllowedVectors(reader, tables[name], allowed[name]) for name, reader in snapshot.vectors.items()}
    manifest, generation = snapshot.manifest, snapshot.generation
    return View(manifest, generation, graph, vectors, snapshot.corpus_state, notes, evidence=evidence, opened=opened)


def _restricted(
    whole: Adjacency, documents: pa.Array, evidence: Evidence, written: Set[str]
) -> tuple[Adjacency, dict[str, Mask]]:
    """Return the graph with allowed rows alone, and the masks of the vectors that may be found.

    Rows of the ids in `written` have texts of people, and are always built again.
    """
    here = np.asarray(pc.is_in(whole.citations.column("doc_id"), value_set=documents))
    places = np.repeat(np.arange(len(whole.chunks.ids)), np.diff(whole.citation_offsets))[here]
    places_of_chunk = np.bincount(places, minlength=len(whole.chunks.ids))
    chunks = places_of_chunk > 0
    entity_chunks, relation_chunks = evidence.entity_chunks, evidence.relation_chunks
    entities, relations = entity_chunks.lengths > 0, relation_chunks.lengths > 0
    entity_relations = _filtered(whole.entity_relations, relations)
    degree = entity_relations.lengths
    rank, weight = degree[whole.endpoints].sum(axis=1), evidence.weights
    entities_by_people, relations_by_people = (_among(one, written) for one in (whole.entities, whole.relations))
    listed = evidence.settings.max_chunks
    entity_texts = _all_in(_first(whole.entity_chunks, listed), chunks) & ~entities_by_people
    relation_texts = _all_in(_first(whole.relation_chunks, listed), chunks) & ~relations_by_people
    same_names = _all_in(whole.entity_chunks, chunks) & ~entities_by_people
    same_entities = entity_texts & same_names
    same_relations: Mask = relation_texts & np.all(same_names[whole.endpoints], axis=1)
    other_entities = _highest(entities & ~same_entities, degree)
    other_relations = _highest(relations & ~same_relations, rank)

    def rebuild_entities(ids: list[str]) -> pa.Table:
        merged, _ = evidence.merged(whole.entities.rows_of(ids), _NONE, entity_relations)
        return merged.filter(pc.is_in(merged["entity_id"], pa.array(ids)))

    def rebuild_relations(ids: list[str]) -> pa.Table:
        _, merged = evidence.merged(_NONE, whole.relations.rows_of(ids), entity_relations)
        return merged.filter(pc.is_in(merged["relation_id"], pa.array(ids)))

    known, joined, numbers = whole.entities, whole.relations, {"rank": rank, "weight": weight}
    return replace(
        whole,
        entities=Rebuilt(
            known.rows, known.ids, entity_texts, same_entities, other_entities, rebuild_entities, {"degree": degree}
        ),
        relations=Rebuilt(
            joined.rows, joined.ids, relation_texts, same_relations, other_relations, rebuild_relations, numbers
        ),
        citations=whole.citations.filter(pa.array(here)),
        citation_offsets=offsets_of(places_of_chunk),
        priority=priority_of(rank, weight),
        entity_relations=entity_relations,
        entity_chunks=entity_chunks,
        relation_chunks=relation_chunks,
    ), {"chunk_vectors": chunks, "entity_vectors": entities, "relation_vectors": relations}


class AllowedVectors:
    """A vector table with only some rows visible. It implements `VectorSearch`."""

    def __init__(self, reader: VectorSearch, table: MappedTable, allowed: Mask) -> None:
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
        """Free the allowed vectors; the reader belongs to the whole snapshot."""
        self.__dict__.pop("_flat", None)

    @cached_property
    def _flat(self) -> tuple[list[str], Vectors]:
        """The allowed ids, sorted, and their vectors."""
        vectors = self._reader.vectors(self._table.ids_at(np.flatnonzero(self._allowed).astype(np.int32)))
        ids = sorted(vectors)
        return ids, np.stack([vectors[one] for one in ids])


def _among(table: MappedTable, ids: Set[str]) -> Mask:
    """Return a mask of the rows that have one of the ids."""
    return np.asarray(pc.is_in(table.rows.column(0), value_set=pa.array(sorted(ids), pa.string())), dtype=bool)


def _highest(rows: Mask, number: npt.NDArray[np.int64]) -> Rows:
    """Return the rows of a mask, those with the highest number first."""
    found = np.flatnonzero(rows).astype(np.int32)
    return found[np.argsort(-number[found], kind="stable")]


def _filtered(lists: Lists, allowed: Mask) -> Lists:
    """Return the lists with allowed values only."""
    kept = allowed[lists.values]
    return lists_of(lists.owners[kept], lists.values[kept], len(lists.offsets) - 1)


def _first(lists: Lists, most: int) -> Lists:
    """Return the lists cut to a number of values."""
    places = np.arange(len(lists.values)) - np.repeat(lists.offsets[:-1], lists.lengths)
    return Lists(offsets_of(np.minimum(lists.lengths, most)), lists.values[places < most])


def _all_in(lists: Lists, allowed: Mask) -> Mask:
    """Return a mask of the rows whose list has allowed values only."""
    return np.equal(_filtered(lists, ~allowed).lengths, 0)
