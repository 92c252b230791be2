from pathlib import Path

import pytest

from lightrag_dagster.indexes.adjacency import Adjacency, build_adjacency
from lightrag_dagster.query.records import chunks_at, entities_at, relations_at
from tests.query.tables import chunk_file, entities, relations


@pytest.fixture
def graph(tmp_path: Path) -> Adjacency:
    chunks = [
        {"chunk_id": "chunk-a", "path": "z.md", "content": "Ada", "tokens": 4, "char_end": 3},
        {"chunk_id": "chunk-a", "path": "b.md", "content": "Ada", "tokens": 4, "char_start": 5, "char_end": 8},
    ]
    build_adjacency(
        tmp_path / "adjacency",
        entities([{"name": f"Entity {number}", "degree": number} for number in range(150)]),
        relations([{"src": "Entity 1", "tgt": "Entity 2", "keywords": "k", "weight": 2.0, "rank": 3}]),
        [chunk_file(tmp_path, "books", chunks)],
    )
    return Adjacency.open(tmp_path / "adjacency")


def test_entities_beyond_one_block_in_the_order_of_rows(graph: Adjacency) -> None:
    rows = list(range(149, -1, -1))
    ids = graph.entities.rows.column("entity_id").to_pylist()
    found = list(entities_at(graph, {row: 0.7 if row == 149 else None for row in rows}))
    assert [entity.entity_id for entity in found] == ids[::-1]
    assert found[0].score == 0.7
    assert found[1].score is None
    assert all(entity.name == f"Entity {entity.degree}" for entity in found)


def test_a_relation_is_whole(graph: Adjacency) -> None:
    (relation,) = relations_at(graph, {0: None})
    assert {relation.src, relation.tgt} == {"Entity 1", "Entity 2"}
    assert (relation.keywords, relation.weight, relation.rank, relation.score) == ("k", 2.0, 3, None)


def test_a_chunk_stands_first_where_its_first_citation_does(graph: Adjacency) -> None:
    (chunk,) = chunks_at(graph, {0: 0.5}, {0: 0.9})
    assert (chunk.content, chunk.tokens, chunk.score, chunk.rerank_score) == ("Ada", 4, 0.5, 0.9)
    assert [(place.path, place.char_start, place.char_end) for place in chunk.citations] == [
        ("b.md", 5, 8),
        ("z.md", 0, 3),
    ]
    assert (chunk.source, chunk.path, chunk.doc_id) == ("books", "b.md", chunk.citations[0].doc_id)
