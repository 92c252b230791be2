import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lightrag_dagster.core.child import Child
from lightrag_dagster.errors import IntegrityError
from lightrag_dagster.indexes.cypher import graph as graph_module
from lightrag_dagster.indexes.cypher.graph import build_graph, graph_findings
from lightrag_dagster.indexes.integrity import findings
from lightrag_dagster.schemas import vector_schema
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.manifests import Vectors
from lightrag_dagster.storage.snapshots.generations import ADJACENCY, GRAPH, GRAPH_RECORD, Generation, remove_graph
from tests.storage.corpus import OFFICE, RIVER, build, copy_of, home_of, merge, write_source


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    home = home_of(tmp_path_factory.mktemp("built"), river=RIVER, office=OFFICE)
    return asyncio.run(build(merge(home, "river", "office")))


@pytest.fixture
def generation(built: Generation, tmp_path: Path) -> Generation:
    return copy_of(built, tmp_path)


def test_a_sound_generation_has_no_findings(generation: Generation) -> None:
    assert findings(generation) == []
    assert graph_findings(generation, generation.path(GRAPH)) == []


def test_a_generation_without_a_graph_database_may_be_published(generation: Generation) -> None:
    remove_graph(generation)
    assert findings(generation) == []


@pytest.mark.long
@pytest.mark.parametrize("sources", [(), ("empty",)])
def test_nothing_at_all_is_sound(tmp_path: Path, sources: tuple[str, ...]) -> None:
    generation = asyncio.run(build(merge(home_of(tmp_path, empty={}), *sources)))
    assert findings(generation) == []


@pytest.mark.long
def test_failed_rows_are_sound(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    write_source(home, "river", RIVER, failed_documents=1, failed_chunks=1)
    assert findings(asyncio.run(build(merge(home, "river")))) == []


@pytest.mark.parametrize(
    ("step", "assets"),
    [
        ("entities.parquet", "entities"),
        ("relation_evidence.parquet", "relation_evidence"),
        ("vectors.json", "chunk_vectors, entity_vectors, relation_vectors"),
        ("views.duckdb", "views.duckdb"),
    ],
)
def test_an_unfinished_step_is_named(generation: Generation, step: str, assets: str) -> None:
    generation.path(step).unlink()
    assert findings(generation) == [f"not finished: {assets}"]


def test_an_unfinished_vector_table_is_named(generation: Generation) -> None:
    vectors = generation.read_record("vectors.json", Vectors)
    del vectors.tables["entity_vectors"]
    generation.write_record("vectors.json", vectors)
    assert findings(generation) == ["not finished: entity_vectors"]


def change(table: pa.Table, column: str, value: Any) -> pa.Table:
    """Set one column of the first row."""
    values = [value, *table.column(column).to_pylist()[1:]]
    field = table.schema.field(column)
    return table.set_column(table.schema.get_field_index(column), field, pa.array(values, field.type))


def drop(table: pa.Table) -> pa.Table:
    return table.slice(1)


def double(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 1)])


NO_CHUNK = "a chunk is cited that does not exist"
NO_DOCUMENT = "a document is cited that does not exist"
NO_ENTITY = "a relation ends at an entity that does not exist"

MISCOUNTED = "the counts of a row are not those of its evidence"
MISMARKED = "a row is marked as capped that lists all, or lists less and is not marked"

BROKEN: list[tuple[str, Callable[[pa.Table], pa.Table], set[str]]] = [
    ("relations", lambda rows: change(rows, "src_id", "ent-none"), {NO_ENTITY}),
    ("relations", lambda rows: change(rows, "tgt_id", "ent-none"), {NO_ENTITY}),
    ("entities", lambda rows: change(rows, "chunk_ids", ["chunk-none"]), {NO_CHUNK}),
    ("relations", lambda rows: change(rows, "chunk_ids", ["chunk-none"]), {NO_CHUNK}),
    ("entity_evidence", lambda rows: change(rows, "chunk_id", "chunk-none"), {NO_CHUNK}),
    ("relation_evidence", lambda rows: change(rows, "chunk_id", "chunk-none"), {NO_CHUNK}),
    ("entities", lambda rows: change(rows, "doc_ids", ["doc-none"]), {NO_DOCUMENT}),
    ("relations", lambda rows: change(rows, "doc_ids", ["doc-none"]), {NO_DOCUMENT}),
    ("entities", lambda rows: change(rows, "mention_count", 9), {MISCOUNTED}),
    ("entities", lambda rows: change(rows, "chunk_count", 9), {MISCOUNTED, MISMARKED}),
    ("relations", lambda rows: change(rows, "chunk_count", 9), {MISCOUNTED, MISMARKED}),
    ("relations", lambda rows: change(rows, "document_count", 9), {MISMARKED}),
    ("entities", lambda rows: change(rows, "capped", True), {MISMARKED}),
    (
        "entity_evidence",
        drop,
        {
            MISCOUNTED,
            "a chunk in the arrays has no evidence, in entity_chunks",
            "an edge of the graph read forwards belongs to no row, of MENTIONS",
        },
    ),
    (
        "relation_evidence",
        drop,
        {MISCOUNTED, "a chunk in the arrays has no evidence, in relation_chunks"},
    ),
    (
        "entity_evidence",
        lambda rows: change(rows, "entity_id", "ent-none"),
        {"evidence names an entity that does not exist"},
    ),
    (
        "relation_evidence",
        lambda rows: change(rows, "relation_id", "rel-none"),
        {"evidence names a relation that does not exist"},
    ),
    (
        "entities",
        lambda rows: change(rows, "embedding_key", "x"),
        {"a row has no vector of its text in entity_vectors", "a vector belongs to no row, in entity_vectors"},
    ),
    (
        "entities",
        drop,
        {"a vector belongs to no row, in entity_vectors", "a node of the graph belongs to no row, of Entity"},
    ),
    (
        "relations",
        drop,
        {
            "a vector belongs to no row, in relation_vectors",
            "an edge of the graph read forwards belongs to no row, of RELATED",
            "an edge of the graph read backwards belongs to no row, of RELATED",
        },
    ),
    (
        "entities",
        double,
        {
            "two entities have one id",
            "a row has no vector of its text in entity_vectors",
            "a row is missing from the graph, of Entity",
        },
    ),
    (
        "relations",
        double,
        {
            "two relations have one id",
            "a row has no vector of its text in relation_vectors",
            "an edge is missing from the graph read forwards, of RELATED",
            "an edge is missing from the graph read backwards, of RELATED",
        },
    ),
]


TWINS = (1, 3, 5, 7, 10, 14, 16, 21)
"""Numbers of those that are broken as another table is."""


@pytest.mark.parametrize(
    ("table", "breaking", "expected"),
    [pytest.param(*one, marks=[pytest.mark.long] * (number in TWINS)) for number, one in enumerate(BROKEN)],
)
def test_a_broken_table_is_found(
    generation: Generation, table: str, breaking: Callable[[pa.Table], pa.Table], expected: set[str]
) -> None:
    path = generation.path(f"{table}.parquet")
    atomic.write_parquet(path, breaking(atomic.read_parquet(path)))
    found = findings(generation)
    if any("the graph" in one for one in expected):
        found += graph_findings(generation, generation.path(GRAPH))
    assert expected <= {one.partition(" (1 times, first ")[0] for one in found}
    assert not any("\n" in one for one in found)


def test_arrays_that_are_cut_are_found(generation: Generation) -> None:
    folder = generation.path(ADJACENCY)
    offsets, values = (np.load(folder / f"entity_chunks_{part}.npy") for part in ("offsets", "values"))
    np.save(folder / "entity_chunks_offsets.npy", np.append(offsets[:-1], offsets[-1] - 1))
    np.save(folder / "entity_chunks_values.npy", values[:-1])
    missing, miscounted = findings(generation)
    assert missing.startswith("a chunk is missing from the arrays, in entity_chunks (1 times, first chunk-")
    assert miscounted.startswith(f"{MISCOUNTED} (1 times, first ent-")


@pytest.mark.long
def test_a_graph_without_all_rows_is_not_kept(generation: Generation, monkeypatch: pytest.MonkeyPatch) -> None:
    remove_graph(generation)
    run = graph_module._run

    def lose(writer: Child, statement: str) -> None:
        if statement == "CHECKPOINT":
            run(writer, "MATCH ()-[r:RELATED]->() WITH r LIMIT 1 DELETE r")
        run(writer, statement)

    with monkeypatch.context() as patched:
        patched.setattr(graph_module, "_run", lose)
        with pytest.raises(IntegrityError, match="an edge is missing from the graph read"):
            build_graph(generation)
    assert not generation.has(GRAPH)
    assert not generation.has(GRAPH_RECORD)
    build_graph(generation)
    assert graph_findings(generation, generation.path(GRAPH)) == []


def chunk_file(generation: Generation) -> Path:
    return next(path for path in generation.table_files("chunks") if path.parent.name == "river")


def test_a_chunk_of_an_unknown_document_is_found(generation: Generation) -> None:
    path = chunk_file(generation)
    atomic.write_parquet(path, change(atomic.read_parquet(path), "doc_id", "doc-none"))
    found = findings(generation) + graph_findings(generation, generation.path(GRAPH))
    assert any(one.startswith("a document is cited that does not exist") for one in found)
    assert any(one.startswith("an edge is missing from the graph read forwards, of HAS_CHUNK") for one in found)


def test_a_chunk_whose_text_was_not_embedded_is_found(generation: Generation) -> None:
    path = chunk_file(generation)
    chunks = atomic.read_parquet(path)
    atomic.write_parquet(path, change(chunks, "content", "another text"))
    found = findings(generation)
    assert any(one.startswith("a row has no vector of its text in chunk_vectors") for one in found) or any(
        one.startswith("two texts have one chunk id") for one in found
    )


@pytest.mark.parametrize("duplicate", ["vector", "extra", "missing"])
def test_vectors_that_are_not_the_rows_are_found(generation: Generation, duplicate: str) -> None:
    vectors = generation.read_record("vectors.json", Vectors)
    entry = vectors.tables["relation_vectors"]
    table = lancedb.connect(generation.home.lance).open_table(entry.table)
    rows = table.search().limit(1).to_arrow()
    if duplicate == "missing":
        table.delete(f"id = '{rows['id'][0].as_py()}'")
    elif duplicate == "vector":
        table.add(rows.cast(vector_schema(8)))
    else:
        table.add(change(rows, "id", "rel-extra").cast(vector_schema(8)))
    table.tags.update(entry.tag, table.version)
    wrong = "a row has no vector of its text in" if duplicate == "missing" else "a vector belongs to no row, in"
    assert [one.split(" relation_vectors")[0] for one in findings(generation)] == [wrong]


def test_vectors_that_are_not_finite_are_found(generation: Generation) -> None:
    vectors = generation.read_record("vectors.json", Vectors)
    entry = vectors.tables["chunk_vectors"]
    table = lancedb.connect(generation.home.lance).open_table(entry.table)
    rows = table.search().limit(1).to_arrow()
    column = pa.FixedSizeListArray.from_arrays(pa.array(np.full(8, np.inf, dtype=np.float32)), 8)
    table.merge_insert("id").when_matched_update_all().execute(rows.set_column(2, "vector", column))
    table.tags.update(entry.tag, table.version)
    assert findings(generation) == [f"a vector of chunk_vectors is not finite (1 times, first {rows['id'][0].as_py()})"]
    assert findings(generation, read_vectors=False) == []


def test_vectors_of_another_size_than_the_embedder_gives_are_found(generation: Generation) -> None:
    vectors = generation.read_record("vectors.json", Vectors)
    generation.write_record("vectors.json", vectors.model_copy(update={"dimensions": 16}))
    found = findings(generation)
    assert len(found) == 3
    assert found[0] == "chunk_vectors holds vectors of 8 numbers, the embedder gives 16"


def test_the_counts_are_of_rows(generation: Generation) -> None:
    path = generation.path("entities.parquet")
    entities = atomic.read_parquet(path)
    index = entities.schema.get_field_index("embedding_key")
    atomic.write_parquet(path, entities.set_column(index, entities.schema.field(index), pc.utf8_upper(entities[index])))
    assert findings(generation)[0].startswith("a row has no vector of its text in entity_vectors (5 times, first ent-")
