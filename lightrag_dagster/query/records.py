"""From rows of the adjacency arrays to what a caller sees, read a block at a time as far as it is consumed."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lightrag_dagster.query.types import Chunk, Citation, Entity, Relation
from lightrag_dagster.stores.adjacency import Adjacency, Rows

_BLOCK = 64


def entities_at(graph: Adjacency, rows: Sequence[int], scores: Mapping[str, float]) -> Iterator[Entity]:
    """Yield the entities at the rows."""
    for block in _blocks(rows):
        for row in graph.entities.take(block):
            yield Entity(**row, score=scores.get(row["entity_id"]))


def relations_at(graph: Adjacency, rows: Sequence[int], scores: Mapping[str, float]) -> Iterator[Relation]:
    """Yield the relations at the rows."""
    for block in _blocks(rows):
        for row in graph.relations.take(block):
            yield Relation(**row, score=scores.get(row["relation_id"]))


def chunks_at(graph: Adjacency, rows: Sequence[int], scores: Mapping[int, float]) -> Iterator[Chunk]:
    """Yield the chunks at the rows, with every place they stand at."""
    for number in rows:
        (row,) = graph.chunks.take(np.array([number], dtype=np.int32))
        citations = tuple(Citation(**place) for place in graph.citations_of(number))
        first = citations[0]
        yield Chunk(
            **row,
            score=scores.get(number),
            citations=citations,
            doc_id=first.doc_id,
            source=first.source,
            path=first.path,
        )


def _blocks(rows: Sequence[int]) -> Iterator[Rows]:
    for start in range(0, len(rows), _BLOCK):
        yield np.array(rows[start : start + _BLOCK], dtype=np.int32)
