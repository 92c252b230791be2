from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import CHUNKS, ENTITIES, MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage.acceptance import accept, wanted_inputs
from lightrag_dagster.storage.generations import Generation, generation_id, newest, set_newest, start
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import GenerationInputs
from tests.storage.corpus import OFFICE, RIVER, home_of, merge, rows

INPUTS = GenerationInputs(sources={"river": {"chunks": "v1"}}, left_out={"office": "failed"}, fingerprint="code")


def test_the_id_is_a_hash_of_the_inputs() -> None:
    assert generation_id(INPUTS) == generation_id(INPUTS.model_copy(deep=True))
    assert generation_id(INPUTS).startswith("gen-")
    others = [
        INPUTS.model_copy(update={"fingerprint": "other"}),
        INPUTS.model_copy(update={"left_out": {}}),
        INPUTS.model_copy(update={"sources": {"river": {"chunks": "v2"}}}),
    ]
    assert len({generation_id(inputs) for inputs in [INPUTS, *others]}) == 4


def test_starting_again_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    generation = start(home, INPUTS)
    before = generation.path("generation.json").stat()
    assert start(home, INPUTS) == generation
    assert generation.path("generation.json").stat() == before
    assert generation.inputs() == INPUTS


def test_starting_clears_what_a_killed_run_left(tmp_path: Path) -> None:
    home = Home(tmp_path)
    generation = start(home, INPUTS)
    generation.path(".entities.parquet.x1.tmp").write_bytes(b"half")
    generation.path(".graph.kuzu.x2").mkdir()
    generation.path(".graph.kuzu.x2/graph.kuzu").write_bytes(b"half")
    generation.path("views.duckdb").write_bytes(b"kept")
    start(home, INPUTS)
    assert sorted(path.name for path in home.generation(generation.id).iterdir()) == ["generation.json", "views.duckdb"]


def test_a_merged_table_is_written_once_and_sorted(tmp_path: Path) -> None:
    generation = start(Home(tmp_path), INPUTS)
    assert not generation.has("entities")
    generation.write_table("entities", rows(ENTITIES, [{"entity_id": "b"}, {"entity_id": "a"}]))
    assert generation.has("entities")
    assert generation.read_table("entities", ["entity_id"]).to_pydict() == {"entity_id": ["a", "b"]}
    generation.write_table("entities", rows(ENTITIES, [{"entity_id": "c"}]))
    assert generation.read_table("entities", ["entity_id"]).to_pydict() == {"entity_id": ["a", "b"]}


def test_several_merged_tables_are_written_at_once_and_the_failure_of_one_is_raised(tmp_path: Path) -> None:
    generation = start(Home(tmp_path), INPUTS)
    entities = rows(ENTITIES, [{"entity_id": "b"}, {"entity_id": "a"}])
    with pytest.raises(StoreError, match="rows for relations have another schema"):
        generation.write_tables({"relations": entities, "entities": entities})
    assert not generation.has("relations")
    assert generation.read_table("entities", ["entity_id"]).to_pydict() == {"entity_id": ["a", "b"]}


def test_equal_rows_in_another_order_are_the_same_bytes(tmp_path: Path) -> None:
    records = [{"entity_id": f"ent-{n}", "chunk_ids": [str(n)]} for n in range(50)]
    contents = []
    for folder, ordered in (("a", records), ("b", records[::-1])):
        generation = start(Home(tmp_path / folder), INPUTS)
        generation.write_table("entities", rows(ENTITIES, ordered))
        contents.append(generation.path("entities.parquet").read_bytes())
    assert contents[0] == contents[1]


def test_another_schema_is_refused(tmp_path: Path) -> None:
    generation = start(Home(tmp_path), INPUTS)
    with pytest.raises(StoreError, match="rows for entities have another schema"):
        generation.write_table("entities", pa.table({"entity_id": ["a"]}))
    assert not generation.has("entities")


def test_a_per_source_table_is_read_over_all_sources(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER, office=OFFICE, empty={})
    generation = merge(home, "river", "office", "empty")
    chunks = generation.read_table("chunks")
    assert chunks.schema.equals(CHUNKS)
    assert chunks.column("source").to_pylist() == ["office"] * 2 + ["river"] * 3
    assert [path.parent.name for path in generation.table_files("chunks")] == ["empty", "office", "river"]
    assert {path.name for path in generation.table_files("entities")} == {"entities.parquet"}


@pytest.mark.parametrize("table", [*SOURCE_TABLES, *MERGED_TABLES])
def test_no_source_at_all_is_empty_tables(tmp_path: Path, table: str) -> None:
    generation = merge(Home(tmp_path))
    assert generation.read_table(table).num_rows == 0


def test_newest(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    with pytest.raises(StoreError, match="nothing was merged in"):
        newest(home)
    first = start(home, wanted_inputs(home, ["river"], "code"))
    set_newest(home, first)
    assert newest(home) == first
    accept(home, "river", 0.0)
    second = start(home, wanted_inputs(home, ["river"], "code"))
    assert second != first
    assert newest(home) == first
    set_newest(home, second)
    assert newest(home) == second


@pytest.mark.parametrize("content", ["", "{", '{"id": 3}', '{"id": "gen-1", "more": 1}'])
def test_a_damaged_pointer_is_named_and_mended_by_the_next_run(tmp_path: Path, content: str) -> None:
    home = Home(tmp_path)
    home.newest.write_text(content)
    with pytest.raises(StoreError, match="NEWEST cannot be read; delete it and run"):
        newest(home)
    set_newest(home, Generation(home, "gen-1"))
    assert newest(home).id == "gen-1"


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gen-none/generation\.json is missing; run"):
        Generation(Home(tmp_path), "gen-none").inputs()
