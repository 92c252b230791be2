import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import NoSnapshotError, QueryError, StoreError
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots import checks
from tests.query.tables import chunk_file, entities, graph_of, relations


def test_a_snapshot_is_whole(published_home: Path) -> None:
    snapshot = open_snapshot(Home(published_home), None)
    assert set(snapshot.vectors) == set(VECTOR_TABLES)
    assert snapshot.corpus_state is not None
    assert snapshot.graph.entities.rows.num_rows == snapshot.manifest.rows["entities"]
    again = open_snapshot(Home(published_home), snapshot.manifest.snapshot_id)
    assert again.manifest == snapshot.manifest


def test_nothing_published(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshotError, match=r"home yet; run `lightrag-dagster run`"):
        open_snapshot(Home(tmp_path / "home"), None)
    assert not (tmp_path / "home").exists()


def test_an_unknown_snapshot_is_named(published_home: Path) -> None:
    with pytest.raises(QueryError, match="gen-none"):
        open_snapshot(Home(published_home), "gen-none")


def test_a_damaged_part_is_named(published_home: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(published_home, tmp_path / "home"))
    (state,) = home.glob("generations/*/corpus_state.npy")
    state.write_bytes(b"not an array")
    with pytest.raises(StoreError, match=str(state)):
        open_snapshot(Home(home), None)


def test_warming_waits_until_large_files_are_checked(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", 0)
    home = Path(shutil.copytree(published_home, tmp_path / "home"))
    (array,) = home.glob("generations/*/adjacency/relation_chunks_values.npy")
    array.write_bytes(array.read_bytes()[:-1] + b"!")
    with pytest.raises(StoreError, match=str(array)), KnowledgeBase.open(home) as knowledge:
        knowledge.warm()


@pytest.fixture
def small(published_home: Path, tmp_path: Path) -> Snapshot:
    chunks = [
        {"chunk_id": "chunk-a", "path": "z.md", "content": "Ada", "tokens": 4, "char_end": 3},
        {"chunk_id": "chunk-a", "path": "b.md", "content": "Ada", "tokens": 4, "char_start": 5, "char_end": 8},
    ]
    graph = graph_of(
        tmp_path,
        entities([{"name": f"Entity {number}", "degree": number} for number in range(150)]),
        relations([{"src": "Entity 1", "tgt": "Entity 2", "keywords": "k", "weight": 2.0, "rank": 3}]),
        [chunk_file(tmp_path, "books", chunks)],
    )
    return replace(open_snapshot(Home(published_home), None), graph=graph)


def test_entities_beyond_one_block_in_the_order_of_rows(small: Snapshot) -> None:
    rows = list(range(149, -1, -1))
    ids = small.graph.entities.rows.column("entity_id").to_pylist()
    found = list(small.entities({row: 0.7 if row == 149 else None for row in rows}))
    assert [entity.entity_id for entity in found] == ids[::-1]
    assert found[0].score == 0.7
    assert found[1].score is None
    assert all(entity.name == f"Entity {entity.degree}" for entity in found)


def test_a_relation_is_whole(small: Snapshot) -> None:
    (relation,) = small.relations({0: None})
    assert {relation.src, relation.tgt} == {"Entity 1", "Entity 2"}
    assert (relation.keywords, relation.weight, relation.rank, relation.score) == ("k", 2.0, 3, None)


def test_a_chunk_stands_first_where_its_first_citation_does(small: Snapshot) -> None:
    (chunk,) = small.chunks({0: 0.5}, {0: 0.9})
    assert (chunk.content, chunk.tokens, chunk.score, chunk.rerank_score) == ("Ada", 4, 0.5, 0.9)
    assert [(place.path, place.char_start, place.char_end) for place in chunk.citations] == [
        ("b.md", 5, 8),
        ("z.md", 0, 3),
    ]
    assert (chunk.source, chunk.path, chunk.doc_id) == ("books", "b.md", chunk.citations[0].doc_id)
