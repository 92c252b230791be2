"""From rows of the adjacency arrays to what a caller sees, read a block at a time as far as it is consumed."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency, Rows
from lightrag_dagster.query.search import Hits
from lightrag_dagster.query.types import Chunk, Citation, Entity, Relation

_BLOCK = 64


def entities_at(graph: Adjacency, hits: Hits) -> Iterator[Entity]:
    """Yield the entities that were found."""
    for block in _blocks(list(hits)):
        for number, row in zip(block.tolist(), graph.entities.take(block), strict=True):
            yield Entity(**row, score=hits[number])


def relations_at(graph: Adjacency, hits: Hits) -> Iterator[Relation]:
    """Yield the relations that were found."""
    for block in _blocks(list(hits)):
        for number, row in zip(block.tolist(), graph.relations.take(block), strict=True):
            yield Relation(**row, score=hits[number])


def chunks_at(graph: Adjacency, hits: Hits, rerank_scores: Mapping[int, float]) -> Iterator[Chunk]:
    """Yield the chunks that were found, with every place they stand at."""
    for number, score in hits.items():
        (row,) = graph.chunks.take(np.array([number], dtype=np.int32))
        citations = tuple(Citation(**place) for place in graph.citations_of(number))
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


def _blocks(rows: Sequence[int]) -> Iterator[Rows]:
    for start in range(0, len(rows), _BLOCK):
        yield np.array(rows[start : start + _BLOCK], dtype=np.int32)
