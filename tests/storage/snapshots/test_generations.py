from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.core.identity import table_version
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import CHUNKS, MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import GenerationInputs
from lightrag_dagster.storage.snapshots.generations import Generation, newest_generation, remove_leftovers, set_newest
from tests.storage.corpus import OFFICE, RIVER, home_of, inputs_of, merge, rows, store_tables

INPUTS = inputs_of(Home(Path("none"))).model_copy(update={"sources": {"river": {"chunks": "v1"}}})
EMPTY = {table: schema.empty_table() for table, schema in MERGED_TABLES.items()}


def stored(folder: Path, inputs: GenerationInputs = INPUTS, **tables: list[dict[str, Any]]) -> Generation:
    return store_tables(
        Home(folder), inputs, EMPTY | {name: rows(MERGED_TABLES[name], tables[name]) for name in tables}
    )


def test_the_id_is_a_hash_of_inputs_and_rows(tmp_path: Path) -> None:
    first = stored(tmp_path, entities=[{"entity_id": "a"}])
    assert first.id.startswith("gen-")
    assert stored(tmp_path, INPUTS.model_copy(deep=True), entities=[{"entity_id": "a"}]) == first
    updates = {"revisions": "other"}, {"sources": {"river": {"chunks": "v2"}}}
    others = [stored(tmp_path, INPUTS.model_copy(update=update), entities=[{"entity_id": "a"}]) for update in updates]
    others.append(stored(tmp_path, entities=[{"entity_id": "a", "description": "another summary"}]))
    assert len({one.id for one in [first, *others]}) == 4


def test_of_the_embedder_its_identity_counts(tmp_path: Path) -> None:
    other = INPUTS.embedder.model_copy(update={"model": "ignored"})
    assert stored(tmp_path, INPUTS.model_copy(update={"embedder": other})) == stored(tmp_path)
    other = INPUTS.embedder.model_copy(update={"identity": "another"})
    assert stored(tmp_path, INPUTS.model_copy(update={"embedder": other})) != stored(tmp_path)


def test_the_record_names_inputs_versions_and_recipes(tmp_path: Path) -> None:
    generation = store_tables(Home(tmp_path), INPUTS, EMPTY, {"recipe": 3}, 1)
    record = generation.record()
    assert (record.inputs, record.summaries, record.failed_summaries) == (INPUTS, {"recipe": 3}, 1)
    assert generation.inputs() == INPUTS
    assert record.tables == {table: table_version(generation.read_table(table)) for table in MERGED_TABLES}


def test_storing_again_changes_nothing_and_restores_lost_files(tmp_path: Path) -> None:
    generation = stored(tmp_path, entities=[{"entity_id": "a"}])
    kept, lost = generation.path("generation.json"), generation.path("entities.parquet")
    before, content = kept.stat(), lost.read_bytes()
    lost.unlink()
    assert stored(tmp_path, entities=[{"entity_id": "a"}]) == generation
    assert kept.stat() == before
    assert lost.read_bytes() == content


def test_storing_again_mends_damaged_rows_and_leaves_equal_ones(tmp_path: Path) -> None:
    generation = stored(tmp_path, entities=[{"entity_id": "a"}])
    damaged, equal = generation.path("entities.parquet"), generation.path("relations.parquet")
    content, rows = damaged.read_bytes(), pq.read_table(equal)
    damaged.write_bytes(content[::-1])
    pq.write_table(rows, equal, compression="none")
    other = equal.read_bytes()
    assert stored(tmp_path, entities=[{"entity_id": "a"}]) == generation
    assert damaged.read_bytes() == content
    assert equal.read_bytes() == other


def test_leftovers_of_killed_builders_are_removed(tmp_path: Path) -> None:
    generation = stored(tmp_path)
    generation.path(".graph.kuzu.x2").mkdir()
    generation.path(".graph.kuzu.x2/graph.kuzu").write_bytes(b"half")
    generation.path(".views.x1.tmp").write_bytes(b"half")
    generation.path("views.duckdb").write_bytes(b"kept")
    (tmp_path / "generations" / ".new.x3").mkdir()
    remove_leftovers(Home(tmp_path))
    assert list((tmp_path / "generations").iterdir()) == [generation.path("")]
    names = {path.name for path in generation.path("").iterdir()}
    assert names == {"generation.json", "views.duckdb", *(f"{table}.parquet" for table in MERGED_TABLES)}


@pytest.mark.parametrize("sizes", [[5], [2, 3], [0, 1, 4], [5, 0]])
def test_tables_in_any_number_of_files_are_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
) -> None:
    monkeypatch.setattr(atomic, "ROWS_PER_BATCH", 2)
    monkeypatch.setattr(identity, "ROWS_PER_BATCH", 2)
    whole = rows(MERGED_TABLES["entities"], [{"entity_id": f"ent-{n}", "chunk_ids": [str(n)]} for n in range(5)])
    parts, start = list[Path](), 0
    for number, size in enumerate(sizes):
        parts.append(tmp_path / f"{number}.parquet")
        pq.write_table(whole.slice(start, size), parts[-1])
        start += size
    version = atomic.join_parquet(tmp_path / "joined.parquet", whole.schema, parts)
    atomic.write_parquet(tmp_path / "whole.parquet", whole)
    assert (tmp_path / "joined.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert version == table_version(whole)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"entities\.parquet has another schema"):
        store_tables(Home(tmp_path), INPUTS, EMPTY | {"entities": pa.table({"entity_id": ["a"]})})
    assert list((tmp_path / "generations").iterdir()) == []


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "part.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"part\.parquet is damaged"):
        atomic.join_parquet(tmp_path / "joined.parquet", MERGED_TABLES["entities"], [tmp_path / "part.parquet"])
    assert not (tmp_path / "joined.parquet").exists()


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
        newest_generation(home)
    first = stored(home.root)
    set_newest(home, first)
    assert newest_generation(home) == first
    second = merge(home, "river")
    assert second != first
    assert newest_generation(home) == first
    set_newest(home, second)
    assert newest_generation(home) == second


@pytest.mark.parametrize("content", ["", "{", '{"id": 3}', '{"id": "gen-1", "more": 1}'])
def test_a_damaged_pointer_is_named_and_mended_by_the_next_run(tmp_path: Path, content: str) -> None:
    home = Home(tmp_path)
    home.newest.write_text(content)
    with pytest.raises(StoreError, match="NEWEST is damaged; `lightrag-dagster run` writes it again"):
        newest_generation(home)
    set_newest(home, Generation(home, "gen-1"))
    assert newest_generation(home).id == "gen-1"


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gen-none/generation\.json is missing; run"):
        Generation(Home(tmp_path), "gen-none").inputs()
