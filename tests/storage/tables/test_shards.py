"""Shards, and tables of several files: their number shows in no row and no version."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.shards import (
    BYTES,
    MOST,
    ROWS,
    Shard,
    leaf_versions,
    leaves_of,
    shards,
    version_of,
)
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion
from tests.storage.corpus import rows

COUNTS = (1, 2, 4, 64, MOST)


def extractions(*names: str, status: str = "ok") -> pa.Table:
    return rows(EXTRACTIONS, [{"chunk_id": f"chunk-{text_digest(name)}", "status": status} for name in names])


def all_shards(count: int) -> list[Shard]:
    return [Shard(number, count) for number in range(count)]


def write(tables: SourceTables, table: pa.Table, count: int) -> TableVersion:
    stored = [tables.store("extractions", "s", shard.of(table, "chunk_id")) for shard in all_shards(count)]
    return tables.record("extractions", "s", stored, inputs={}, recipe="")


@pytest.mark.parametrize(
    ("documents", "size", "count"),
    [(0, 0, 1), (ROWS, 0, 1), (ROWS + 1, 0, 2), (2 * ROWS + 1, 0, 4), (1, BYTES + 1, 2), (10**9, 0, MOST)],
)
def test_a_larger_table_has_twice_as_many_shards(documents: int, size: int, count: int) -> None:
    assert shards(documents, size) == all_shards(count)


@given(st.lists(st.text(max_size=3), unique=True, max_size=30), st.sampled_from(COUNTS))
def test_every_row_is_in_one_shard_and_shards_in_order_are_the_sorted_table(names: list[str], count: int) -> None:
    table = extractions(*names).sort_by("chunk_id")
    parts = [shard.of(table, "chunk_id") for shard in all_shards(count)]
    assert pa.concat_tables(parts).equals(table)
    leaves = {leaf: one for part in parts for leaf, one in leaf_versions(part, "chunk_id").items()}
    assert version_of(EXTRACTIONS, leaves) == version_of(EXTRACTIONS, leaf_versions(table, "chunk_id"))


def test_the_leaf_is_the_beginning_of_the_hash() -> None:
    table = extractions("a", "b")
    assert leaves_of(table["chunk_id"]).to_pylist() == [text_digest(name)[:2] for name in "ab"]


def test_another_row_is_another_version() -> None:
    versions = {
        version_of(EXTRACTIONS, leaf_versions(table.sort_by("chunk_id"), "chunk_id"))
        for table in (extractions("a"), extractions("a", "b"), extractions("a", status="failed"), extractions())
    }
    assert len(versions) == 4


@pytest.mark.parametrize(
    "count",
    [
        1,
        pytest.param(4, marks=pytest.mark.long),
        pytest.param(MOST, marks=pytest.mark.long),
        *(pytest.param(count, marks=pytest.mark.long) for count in (2, 64)),
    ],
)
def test_a_table_reads_the_same_in_however_many_files(tmp_path: Path, count: int) -> None:
    whole, several = SourceTables(Home(tmp_path / "whole")), SourceTables(Home(tmp_path / "several"))
    table = extractions(*map(str, range(40)))
    table = pa.concat_tables([table, extractions("failed", status="failed")])
    version = write(several, table, count)
    assert version.version == write(whole, table, 1).version
    assert (version.rows, version.counts["status"], version.shards) == (41, {"failed": 1, "ok": 40}, count)
    assert several.read("extractions", "s").equals(whole.read("extractions", "s"))
    for among in COUNTS:
        parts = [several.read_shard("extractions", "s", version.version, shard) for shard in all_shards(among)]
        assert pa.concat_tables(parts).equals(whole.read("extractions", "s"))


def test_a_shard_without_a_change_stays_the_same_file(tmp_path: Path) -> None:
    tables = SourceTables(Home(tmp_path))
    names = [str(number) for number in range(200)]
    first = tables.paths("extractions", "s", write(tables, extractions(*names), 8).version)
    second = tables.paths("extractions", "s", write(tables, extractions(*names, "new"), 8).version)
    assert len(first) == len(second) == 8
    assert len({*first} - {*second}) == 1


def test_a_missing_file_or_list_of_a_version_is_seen(tmp_path: Path) -> None:
    tables = SourceTables(Home(tmp_path))
    version = write(tables, extractions("a", "b", "c", "d"), MOST).version
    *paths, listed = tables.all_paths("extractions", "s", version)
    assert tables.has("extractions", "s", version)
    paths[1].unlink()
    assert not tables.has("extractions", "s", version)
    listed.write_text("[[")
    with pytest.raises(StoreError, match="is damaged; delete it and run again"):
        tables.paths("extractions", "s", version)
    listed.unlink()
    with pytest.raises(StoreError, match="is missing; run"):
        tables.read("extractions", "s", version)
