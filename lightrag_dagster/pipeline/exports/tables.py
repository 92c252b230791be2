"""All tables of a snapshot as Parquet files, and in one DuckDB file with their comments."""

from pathlib import Path

import duckdb

from lightrag_dagster.indexes.views import add_derived, create_views
from lightrag_dagster.indexes.views_file import comments
from lightrag_dagster.pipeline.exports.written import Written
from lightrag_dagster.schemas import VIEWS
from lightrag_dagster.storage.snapshots.generations import Generation

DATABASE = "knowledge_base.duckdb"


def write_tables(generation: Generation, folder: Path) -> Written:
    """Write every table and view into an empty folder: a Parquet file each, and all of them into one database.

    DuckDB 1.0 and later can open it. Nothing is held in memory.

    Raises:
        StoreError: a table is missing or damaged.
        OSError, duckdb.Error: the disk refuses.
    """
    rows: dict[Path, int] = {}
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = true")
        connection.execute("SET temp_directory = $1", [str(folder / ".spilled")])
        create_views(connection, generation, temporary=False)
        add_derived(connection)
        database = folder / DATABASE
        connection.execute(f"ATTACH '{_quoted(database)}' AS exported (STORAGE_VERSION 'v1.0.0')")
        for table in VIEWS:
            connection.execute(f'CREATE TABLE exported."{table}" AS FROM "{table}"')
            path = folder / f"{table}.parquet"
            connection.execute(
                f"COPY exported.\"{table}\" TO '{_quoted(path)}' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
            )
            rows[path] = _count(connection, f'exported."{table}"')
        connection.execute("USE exported")
        for comment in comments("TABLE"):
            connection.execute(comment)
        connection.execute("USE memory")
        connection.execute("DETACH exported")
    return Written(rows | {database: sum(rows.values())})


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
