import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lightrag_dagster.core.identity import entity_id, relation_id
from lightrag_dagster.errors import IntegrityError, StoreError
from lightrag_dagster.indexes.adjacency import Adjacency, MappedTable, build_adjacency, has_adjacency
from lightrag_dagster.indexes.arrays import Lists, Rows, read_array
from tests.query.tables import chunk_file, entities, graph_of, relations, write_evidence


@pytest.fixture
def graph(tmp_path: Path) -> Adjacency:
    left = chunk_file(
        tmp_path,
        "left",
        [
            {"chunk_id": "chunk-b", "path": "z.md", "chunk_index": 0, "char_start": 0, "char_end": 7, "tokens": 3},
            {"chunk_id": "chunk-a", "path": "a.md", "chunk_index": 1, "content": "Ada", "page": 2, "page_end": 3},
            {"chunk_id": "chunk-b", "path": "a.md", "chunk_index": 2},
        ],
    )
    right = chunk_file(
        tmp_path, "right", [{"chunk_id": "chunk-b", "path": "a.md"}, {"chunk_id": "chunk-c", "path": "c.md"}]
    )
    return graph_of(
        tmp_path,
        entities(
            [
                {"name": "Ada", "chunk_ids": ["chunk-b", "chunk-a"], "degree": 2},
                {"name": "Babbage", "chunk_ids": ["chunk-a"], "degree": 1},
                {"name": "Engine", "chunk_ids": [], "degree": 1},
                {"name": "Loner", "chunk_ids": ["chunk-c"]},
            ]
        ),
        relations(
            [
                {"src": "Ada", "tgt": "Babbage", "chunk_ids": ["chunk-a"], "weight": 1.0, "rank": 3},
                {"src": "Engine", "tgt": "Ada", "chunk_ids": ["chunk-b"], "weight": 2.0, "rank": 3},
            ]
        ),
        [left, right],
    )


def test_rows_are_found_by_id_in_the_order_asked(graph: Adjacency) -> None:
    rows = graph.entities.rows_of([entity_id(name) for name in ("Loner", "Ada", "Loner")])
    assert [row["name"] for row in graph.entities.take(rows)] == ["Loner", "Ada", "Loner"]
    assert graph.entities.ids_at(rows[:2]) == [entity_id("Loner"), entity_id("Ada")]
    assert graph.entities.rows_of([]).tolist() == []


def test_a_counted_term_is_no_name_in_a_question(tmp_path: Path) -> None:
    named: list[dict[str, object]] = [
        {"name": "ferrite core", "type": "concept", "description": "A term of these texts."},
        {"name": "Force Majeure", "type": "term"},
        {"name": "Ada", "description": "A term of these texts.", "degree": 1},
        {"name": "Loner"},
    ]
    texts = graph_of(tmp_path, entities(named), relations([])).texts
    found = texts.entities_named(["ferrite core", "force majeure", "ada", "loner"])
    assert [len(rows) for rows in found] == [0, 1, 1, 1]


@pytest.mark.parametrize("unknown", ["ent-", "ent-zzzz", entity_id("Ada") + "0"])
def test_an_unknown_id_is_named(graph: Adjacency, unknown: str) -> None:
    with pytest.raises(StoreError, match=unknown):
        graph.entities.rows_of([entity_id("Ada"), unknown])


def neighbours(graph: Adjacency, entity: int) -> Rows:
    ends = graph.endpoints[graph.entity_relations.of(entity)]
    return np.where(ends[:, 0] == entity, ends[:, 1], ends[:, 0])


def test_relations_and_neighbours(graph: Adjacency) -> None:
    ada, loner = graph.entities.rows_of([entity_id("Ada"), entity_id("Loner")]).tolist()
    of_ada = graph.relations.take(graph.entity_relations.of(ada))
    assert {row["relation_id"] for row in of_ada} == {
        relation_id(entity_id("Ada"), entity_id(name)) for name in ("Babbage", "Engine")
    }
    assert {row["name"] for row in graph.entities.take(neighbours(graph, ada))} == {"Babbage", "Engine"}
    assert neighbours(graph, loner).tolist() == []


def test_priority_is_by_rank_then_weight(graph: Adjacency) -> None:
    best = int(np.argmin(graph.priority))
    assert graph.relations.take(np.array([best], dtype=np.int32))[0]["weight"] == 2.0


def test_chunks_are_distinct_and_in_canonical_order(graph: Adjacency) -> None:
    ada = int(graph.entities.rows_of([entity_id("Ada")])[0])
    assert [row["chunk_id"] for row in graph.chunks.take(graph.entity_chunks.of(ada))] == ["chunk-a", "chunk-b"]
    assert graph.chunks.rows.column("chunk_id").to_pylist() == ["chunk-a", "chunk-b", "chunk-c"]
    assert graph.chunks.take(graph.chunks.rows_of(["chunk-a"]))[0]["content"] == "Ada"


@pytest.mark.parametrize(
    ("keeps_first", "expected"),
    [(True, ["a0", "b3", "c4", "a1", "a2"]), (False, ["a2", "b3", "c4", "a1", "a0"])],
)
def test_chunks_of_a_hub_are_all_listed_in_turn_over_sources(
    tmp_path: Path, keeps_first: bool, expected: list[str]
) -> None:
    placed = [("a", 0), ("a", 1), ("a", 2), ("b", 3), ("c", 4)]
    files = [
        chunk_file(
            tmp_path, source, [{"chunk_id": f"{source}{n}", "path": f"{n}.md"} for at, n in placed if at == source]
        )
        for source in "abc"
    ]
    own = [f"{source}{n}" for source, n in placed]
    known = entities([{"name": "Hub", "chunk_ids": own}, {"name": "Named by relations"}])
    joined = relations([{"src": "Hub", "tgt": "Named by relations", "chunk_ids": own}])
    evidence = write_evidence(tmp_path, known, joined, files)
    build_adjacency(tmp_path / "adjacency", known, joined, evidence, keeps_first=keeps_first)
    graph = Adjacency.open(tmp_path / "adjacency")
    for lists, owners in ((graph.entity_chunks, 2), (graph.relation_chunks, 1)):
        assert [graph.chunks.ids_at(lists.of(owner)) for owner in range(owners)] == [expected] * owners


def test_citations_are_in_canonical_order(graph: Adjacency) -> None:
    row = int(graph.chunks.rows_of(["chunk-b"])[0])
    places = [(place["source"], place["path"], place["chunk_index"]) for place in graph.citations_of(row)]
    assert places == [("left", "a.md", 2), ("left", "z.md", 0), ("right", "a.md", 0)]
    assert graph.citations_of(row)[1]["char_end"] == 7
    (place,) = graph.citations_of(int(graph.chunks.rows_of(["chunk-a"])[0]))
    assert (place["page"], place["page_end"]) == (2, 3)


def test_nothing_at_all_is_a_graph_too(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, entities([]), relations([]))
    assert graph.entities.take(graph.entities.rows_of([])) == []
    assert [found.tolist() for found in graph.entity_relations.of_each(graph.entities.rows_of([]))] == [[], []]


def test_building_again_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    graph_of(tmp_path, entities([{"name": "Ada"}]), relations([]))
    graph = graph_of(tmp_path, entities([{"name": "Babbage"}]), relations([]))
    assert graph.entities.rows.column("name").to_pylist() == ["Babbage"]
    assert [path.name for path in tmp_path.iterdir()] == ["adjacency"]


@pytest.mark.parametrize(
    ("entity_rows", "relation_rows"),
    [
        ([{"name": "Ada", "chunk_ids": ["chunk-none"]}], []),
        ([{"name": "Ada"}], [{"src": "Ada", "tgt": "Nobody"}]),
    ],
    ids=["a chunk", "an endpoint"],
)
def test_what_does_not_exist_fails_the_build(tmp_path: Path, entity_rows: list, relation_rows: list) -> None:  # type: ignore[type-arg]
    with pytest.raises(IntegrityError, match="does not exist"):
        graph_of(tmp_path, entities(entity_rows), relations(relation_rows))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_chunk_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "books.parquet").write_bytes(b"not Parquet")
    with pytest.raises(StoreError, match=r"books.parquet is damaged; .*; delete it and run again"):
        graph_of(tmp_path, entities([]), relations([]), [tmp_path / "books.parquet"])
    assert not (tmp_path / "adjacency").exists()


def test_a_folder_that_lacks_any_file_is_not_built(tmp_path: Path) -> None:
    folder = tmp_path / "adjacency"
    assert not has_adjacency(folder)
    graph_of(tmp_path, entities([{"name": "Ada"}]), relations([]))
    assert has_adjacency(folder)
    for file in sorted(folder.iterdir()):
        file.rename(tmp_path / "away")
        assert not has_adjacency(folder), file
        (tmp_path / "away").rename(file)


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_folder_is_named(tmp_path: Path, damage: str) -> None:
    graph_of(tmp_path, entities([{"name": "Ada"}]), relations([]))
    file = tmp_path / "adjacency" / "entities.arrow"
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(StoreError, match=str(tmp_path / "adjacency")):
        Adjacency.open(tmp_path / "adjacency")


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=6), st.data())
def test_lists_hold_what_was_put_in(members: list[list[int]], data: st.DataObject) -> None:
    lists = Lists(
        np.concatenate([[0], np.cumsum([len(each) for each in members])]).astype(np.int64),
        np.array([row for each in members for row in each], dtype=np.int32),
    )
    chosen = data.draw(st.lists(st.sampled_from(range(len(members)))))
    assert [lists.of(row).tolist() for row in chosen] == [members[row] for row in chosen]
    at, values = lists.of_each(np.array(chosen, dtype=np.int32))
    pairs = [(place, value) for place, row in enumerate(chosen) for value in members[row]]
    assert list(zip(at.tolist(), values.tolist(), strict=True)) == pairs
    assert lists.lengths.tolist() == list(map(len, members))
    assert lists.owners.tolist() == [row for row, own in enumerate(members) for _ in own]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1])))
def test_the_graph_is_the_table_seen_from_both_ends(tmp_path: Path, edges: set[tuple[int, int]]) -> None:
    rows = [{"src": f"e{low}", "tgt": f"e{high}"} for low, high in sorted(edges)]
    graph = graph_of(tmp_path, entities([{"name": f"e{number}"} for number in range(7)]), relations(rows))
    names = graph.entities.rows.column("name").to_pylist()
    seen = {(names[row], names[other]) for row in range(7) for other in neighbours(graph, row).tolist()}
    assert seen == {(f"e{a}", f"e{b}") for low, high in edges for a, b in ((low, high), (high, low))}


@pytest.mark.long
def test_a_large_graph_builds_in_seconds_and_opens_at_once(tmp_path: Path) -> None:
    count = 20_000
    random = np.random.default_rng(0)
    names = [f"Entity {number}" for number in range(count)]
    pairs = {tuple(sorted(pair)) for pair in random.integers(0, count, (30_000, 2)).tolist() if pair[0] != pair[1]}
    chunk_ids = [f"chunk-{number:06}" for number in range(5_000)]
    file = chunk_file(tmp_path, "s", [{"chunk_id": chunk, "path": "p", "content": "x" * 500} for chunk in chunk_ids])
    entity_table = entities([{"name": name, "chunk_ids": [chunk_ids[i % 5_000]]} for i, name in enumerate(names)])
    relation_table = relations([{"src": names[a], "tgt": names[b]} for a, b in pairs])
    evidence = write_evidence(tmp_path, entity_table, relation_table, [file])
    started = time.process_time()
    build_adjacency(tmp_path / "adjacency", entity_table, relation_table, evidence)
    built = time.process_time()
    graph = Adjacency.open(tmp_path / "adjacency")
    assert built - started < 10
    assert time.process_time() - built < 1
    assert len(graph.entity_relations.values) == 2 * len(pairs)


def test_a_title_names_the_entities_that_a_chunk_is_about(tmp_path: Path) -> None:
    rows = [
        {"chunk_id": "chunk-a", "path": "a.md", "content": "Ada Lovelace (poet)\nShe knew Babbage."},
        {"chunk_id": "chunk-b", "path": "b.md", "content": "A machine.", "context": "Of Ada Lovelace"},
        {"chunk_id": "chunk-c", "path": "c.md", "content": "Lovelaces\nAda Lovelace had cousins."},
        {"chunk_id": "chunk-d", "path": "d.md", "content": "Ada Lovelace is not mentioned here, says the extraction."},
    ]
    mentioned = ["chunk-a", "chunk-b", "chunk-c"]
    people = entities([{"name": "Ada Lovelace", "chunk_ids": mentioned}, {"name": "Babbage", "chunk_ids": ["chunk-a"]}])
    graph = graph_of(tmp_path, people, relations([]), [chunk_file(tmp_path, "s", rows)])
    named = {name: row for row, name in enumerate(graph.entities.rows["name"].to_pylist())}
    assert graph.chunks.ids_at(graph.title_chunks.of(named["Ada Lovelace"])) == ["chunk-a", "chunk-b"]
    assert graph.title_chunks.of(named["Babbage"]).tolist() == []


def test_an_empty_array_is_damage(tmp_path: Path) -> None:
    (tmp_path / "names.npy").touch()
    with pytest.raises(ValueError, match=r"names\.npy is empty"):
        read_array(tmp_path / "names.npy")


def test_many_rows_are_taken_as_a_table_without_objects_for_each() -> None:
    number = 20_000
    ids = [f"ent-{at:06}" for at in range(number)]
    texts = pa.array([f"The description of the entity {at}." for at in range(number)])
    known = MappedTable(pa.table({"entity_id": ids, "description": texts}), np.array(ids, dtype=np.bytes_))
    rows = np.arange(number, dtype=np.int32)[::-1]
    tracemalloc.start()
    taken = known.table_of(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken["entity_id"][:2].to_pylist() == ids[:-3:-1]
    assert most < 100 * number
