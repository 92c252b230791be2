from pathlib import Path

import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.core.child import Pool
from lightrag_dagster.errors import IntegrityError, StoreError
from lightrag_dagster.indexes.cypher import graph as graph_module
from lightrag_dagster.indexes.cypher.graph import RELATIONSHIPS, build_graph, open_graph, stored_keys
from lightrag_dagster.schemas import ENTITIES, ENTITY_EVIDENCE, RELATION_EVIDENCE, RELATIONS
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.graphs import graph_rows
from tests.storage.corpus import OFFICE, RIVER, home_of, merge, rows

AWKWARD = [
    "line\nbreak\r\n\ttab",
    "a \"quoted\" 'name', {with: [marks]} | \\ back\\nslash",
    "日本 🎉 é e\u0301 \u200b \ufeff \U0010ffff",
    "",
    " ",
    "NULL",
    "x" * 300_000,
]


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    """A generation whose graph is still to be built."""
    return merge(home_of(tmp_path, river=RIVER, office=OFFICE), "river", "office")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph for tests that only read."""
    generation = merge(home_of(tmp_path_factory.mktemp("built"), river=RIVER, office=OFFICE), "river", "office")
    build_graph(generation)
    return generation.path("graph.kuzu")


def test_the_graph_holds_what_the_tables_hold(generation: Generation) -> None:
    build_graph(generation)
    graph = generation.path("graph.kuzu")
    shared = graph_rows(
        graph,
        "MATCH (d:Document)-[h:HAS_CHUNK]->(c:Chunk)-[m:MENTIONS]->(e:Entity {name: $name}) "
        "RETURN d.source AS source, d.path AS path, d.title AS title, h.chunk_index AS position, "
        "c.tokens AS tokens, m.mentions AS mentions ORDER BY source, path, position",
        {"name": "Gauge"},
    )
    neighbours = graph_rows(
        graph,
        "MATCH (:Entity {name: 'Bergen'})-[r:RELATED]-(e:Entity) RETURN e.name AS name, r.keywords AS keywords "
        "ORDER BY name",
    )
    path = graph_rows(
        graph,
        "MATCH p = (:Entity {name: $a})-[:RELATED* SHORTEST 1..5]-(:Entity {name: $b}) RETURN length(p) AS hops",
        {"a": "O'Brien", "b": "Gauge"},
    )
    assert shared == [
        {"source": "office", "path": "office.md", "title": "«office.md»", "position": 1, "tokens": 9, "mentions": 1},
        {"source": "river", "path": "weir.md", "title": "«weir.md»", "position": 0, "tokens": 9, "mentions": 1},
        {"source": "river", "path": "weir.md", "title": "«weir.md»", "position": 1, "tokens": 9, "mentions": 1},
    ]
    assert neighbours == [{"name": "Marta", "keywords": "met"}, {"name": "O'Brien", "keywords": "met"}]
    assert path == [{"hops": 3}]


@pytest.mark.long
def test_a_relationship_is_the_same_from_both_ends(generation: Generation) -> None:
    build_graph(generation)
    with open_graph(generation.path("graph.kuzu")) as graph:
        keys = {name: rows.to_pylist() for name, rows in stored_keys(graph).items()}
    for table in RELATIONSHIPS:
        assert sorted(map(str, keys[f"forward_{table}"])) == sorted(map(str, keys[f"backward_{table}"]))
    related = {tuple(edge.values()) for edge in keys["backward_RELATED"]}
    relations = generation.read_table("relations")
    assert related == set(zip(relations["src_id"].to_pylist(), relations["tgt_id"].to_pylist(), strict=True))


@pytest.mark.long
def test_any_text_survives(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    generation = merge(home, "river")
    texts = {identity.entity_id(f"entity {n}"): text for n, text in enumerate(AWKWARD)}
    entities = [{"entity_id": entity_id, "name": text, "description": text} for entity_id, text in texts.items()]
    a, b = sorted(texts)[:2]
    relations = [
        {"relation_id": f"rel-{n}", "src_id": a, "tgt_id": b, "keywords": text, "description": text, "weight": 1.5}
        for n, text in enumerate(AWKWARD)
    ]
    atomic.write_parquet(generation.path("entities.parquet"), rows(ENTITIES, entities))
    atomic.write_parquet(generation.path("relations.parquet"), rows(RELATIONS, relations))
    atomic.write_parquet(generation.path("entity_evidence.parquet"), rows(ENTITY_EVIDENCE, []))
    atomic.write_parquet(generation.path("relation_evidence.parquet"), rows(RELATION_EVIDENCE, []))
    build_graph(generation)
    graph = generation.path("graph.kuzu")
    found = graph_rows(graph, "MATCH (e:Entity) RETURN e.entity_id AS id, e.name AS name, e.description AS description")
    edges = graph_rows(
        graph,
        "MATCH (:Entity)-[r:RELATED]->(:Entity) RETURN r.relation_id AS id, r.keywords AS keywords, "
        "r.description AS description, r.weight AS weight",
    )
    assert {row["id"]: (row["name"], row["description"]) for row in found} == {
        entity_id: (text, text) for entity_id, text in texts.items()
    }
    assert {row["id"]: (row["keywords"], row["description"], row["weight"]) for row in edges} == {
        f"rel-{n}": (text, text, 1.5) for n, text in enumerate(AWKWARD)
    }


def test_an_entity_that_only_relations_name_is_cited_without_mentions(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    atomic.write_parquet(generation.path("entity_evidence.parquet"), rows(ENTITY_EVIDENCE, []))
    build_graph(generation)
    counted = "MATCH (:Chunk)-[m:MENTIONS]->(:Entity) RETURN m.mentions AS mentions, count(*) AS edges"
    found = graph_rows(generation.path("graph.kuzu"), counted)
    assert found == [{"mentions": 0, "edges": 7}]


@pytest.mark.parametrize("sources", [(), ("empty",)])
def test_an_empty_graph(tmp_path: Path, sources: tuple[str, ...]) -> None:
    generation = merge(home_of(tmp_path, empty={}), *sources)
    build_graph(generation)
    assert graph_rows(generation.path("graph.kuzu"), "MATCH (n) RETURN n") == []


def test_building_again_writes_nothing_and_nothing_is_left_beside(generation: Generation) -> None:
    build_graph(generation)
    before = generation.path("graph.kuzu").stat()
    build_graph(generation)
    assert generation.path("graph.kuzu").stat() == before
    assert {path.name for path in generation.path("graph.kuzu").parent.glob("*graph*")} == {"graph.kuzu", "graph.json"}


@pytest.mark.long
def test_a_build_killed_before_its_record_is_repeated(generation: Generation) -> None:
    build_graph(generation)
    generation.path("graph.json").unlink()
    generation.path("graph.kuzu").write_bytes(b"half")
    build_graph(generation)
    assert len(graph_rows(generation.path("graph.kuzu"), "MATCH (e:Entity) RETURN e.name")) == 5


@pytest.mark.long
def test_an_endpoint_that_does_not_exist_is_named(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    entities = generation.read_table("entities")
    atomic.write_parquet(generation.path("entities.parquet"), entities.slice(1))
    with pytest.raises((IntegrityError, StoreError), match=entities["entity_id"][0].as_py()) as refused:
        build_graph(generation)
    assert "\n" not in str(refused.value)
    assert not generation.has("graph.kuzu")
    assert not list(generation.path("x").parent.glob(".*"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("full", r"cannot be built: .+; run again$"),
        ("crash", r"cannot be built: Kùzu's process ended \(SIGABRT\); run again$"),
        ("start", r"cannot be built: Kùzu's process ended: no Kùzu; run again$"),
    ],
)
def test_what_ends_kuzu_ends_no_builder(
    generation: Generation, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
) -> None:
    with monkeypatch.context() as patched:
        writers = Pool("tests.indexes.cypher.failing_writer", [fault])
        patched.setattr(graph_module, "_writers", writers)
        with pytest.raises(StoreError, match=reason) as refused:
            build_graph(generation)
    assert "\n" not in str(refused.value)
    assert writers._children == set()
    assert not generation.has("graph.kuzu")
    assert not list(generation.path("x").parent.glob(".*"))
    build_graph(generation)
    assert len(graph_rows(generation.path("graph.kuzu"), "MATCH (e:Entity) RETURN e.name")) == 5


@pytest.mark.long
def test_a_full_disk_is_said(generation: Generation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "_writers", Pool("tests.indexes.cypher.failing_writer", ["full"]))
    monkeypatch.setattr(graph_module, "_LITTLE_ROOM", 1 << 60)
    with pytest.raises(StoreError, match=r"and the disk is full: make room, run again$"):
        build_graph(generation)


def test_open_graphs_share_a_file(built: Path) -> None:
    with open_graph(built) as first, open_graph(built) as second:
        assert stored_keys(first) == stored_keys(second)


@pytest.mark.parametrize("content", [None, b"x" * 10_000])
def test_a_missing_or_damaged_file(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "graph.kuzu").write_bytes(content)
    with pytest.raises(StoreError, match=r"graph\.kuzu cannot be opened"), open_graph(tmp_path / "graph.kuzu"):
        pytest.fail("opened")
