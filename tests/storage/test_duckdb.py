"""Connections to the one database of a process do not see each other's views."""

import base64
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.stages.merging.database import open_small_database
from lightrag_dagster.storage.duckdb import in_memory, spilling, view_files

FATAL = (
    "P(e~L6#x|=6(B4X1Qh@k1{DSz00002000040RaF20AT?D003eY1Q{$f02l^yV`yb<VHE-Z6$~W;7y)i208AVJ000&Q85|iLCIB223>hT`02vqo"
    "ZWRC)1QtdX0VW7Z92Ec+02KlNJQf5Q1{o#*1ONa47Dg5XCI}Wr04N}EVRCVGWppiLaBwYQa&m8XAa-SPb7^mGATl;CFfK6}92@`u0D=Gj08l|vF#"
)
"""A Parquet file with a negative size, on which DuckDB ends its database."""

SCHEMA = pa.schema([("number", pa.int64())])


def write(path: Path, number: int) -> Path:
    pq.write_table(pa.table({"number": [number]}, SCHEMA), path)
    return path


def test_times_do_not_depend_on_the_zone_of_the_machine(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS moment")
    code = """
import sys
from pathlib import Path
from lightrag_dagster.storage.duckdb import in_memory, open_duckdb
with open_duckdb(Path(sys.argv[1])) as file, open_duckdb() as own, in_memory() as shared:
    print(file.execute("SELECT moment, moment::VARCHAR FROM t").fetchone())
    for one in own, shared:
        print(one.execute("SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS moment, moment::VARCHAR").fetchone())
"""
    command = [sys.executable, "-c", code, str(tmp_path / "a.duckdb")]
    environment = os.environ | {"TZ": "America/New_York"}
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert shown == "(datetime.datetime(2026, 1, 1, 0, 0, tzinfo=<UTC>), '2026-01-01 00:00:00+00')\n" * 3


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


@pytest.mark.parametrize("opened", [in_memory, lambda: open_small_database({})])
def test_a_fatal_error_ends_no_database_for_good(
    tmp_path: Path, opened: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]
) -> None:
    (tmp_path / "damaged.parquet").write_bytes(base64.b85decode(FATAL))
    with opened() as connection:
        with pytest.raises(duckdb.InternalException):
            connection.execute("FROM read_parquet($1)", [str(tmp_path / "damaged.parquet")])
        with pytest.raises(duckdb.FatalException):
            connection.execute("SELECT 1")
    with opened() as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
