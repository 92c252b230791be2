"""Connections to the one database of a process do not see each other's views."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.storage.duckdb import in_memory, spilling, view_files

SCHEMA = pa.schema([("number", pa.int64())])


def write(path: Path, number: int) -> Path:
    pq.write_table(pa.table({"number": [number]}, SCHEMA), path)
    return path


def test_views_of_one_name_are_each_connections_own(tmp_path: Path) -> None:
    with in_memory() as one, in_memory() as other:
        for connection, number in ((one, 1), (other, 2)):
            view_files(connection, "numbers", [write(tmp_path / f"it's {number}.parquet", number)], SCHEMA)
        assert [connection.execute("FROM numbers").fetchall() for connection in (one, other)] == [[(1,)], [(2,)]]
        view_files(one, "numbers", [], SCHEMA)
        assert one.execute("FROM numbers").fetchall() == []
    with in_memory() as later:
        assert later.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'numbers'").fetchall() == [(0,)]


@pytest.mark.long
def test_a_path_with_signs_of_a_pattern_is_that_path(tmp_path: Path) -> None:
    for name in ("m1", "m[1]", "m*"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"name": [name]}), tmp_path / name / "t.parquet")
    with in_memory() as connection:
        for name in ("m1", "m[1]", "m*"):
            view_files(connection, "found", [tmp_path / name / "t.parquet"])
            assert connection.sql("FROM found").fetchall() == [(name,)]


def test_what_does_not_fit_spills_into_the_folder(tmp_path: Path) -> None:
    with spilling(tmp_path) as connection:
        connection.execute("SET memory_limit = '60MB'")
        rows = connection.execute("SELECT count(*) FROM (SELECT DISTINCT i, hash(i) h FROM range(6_000_000) t(i))")
        assert rows.fetchall() == [(6_000_000,)]
        assert (tmp_path / "spill").exists()
