"""All tables of a snapshot as Parquet files, and in one DuckDB file with their comments."""

from pathlib import Path

import duckdb

from lightrag_dagster.exports.written import Written
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES, PASS_TABLES
from lightrag_dagster.indexes.views import add_derived, create_views
from lightrag_dagster.indexes.views_file import comments, derived_sql
from lightrag_dagster.storage.duckdb import quoted, spilling
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.view_schemas import MACROS, VIEWS

DATABASE = "knowledge_base.duckdb"

_VECTOR, _MOST_ROWS = 2_048, 122_880
_GROUP_BYTES = 64 << 20
"""Text of documents in a group of rows, which is held in memory until it is written."""

_OF_TODAY = {"facts_now"}
"""Views that show other rows every day: they are views in the database, too, and no file."""

_OF_FACTS = {*PASS_TABLES, *MERGED_PASS_TABLES, *_OF_TODAY, "fact_spans", "contradictions"}
"""Tables and views that are left out where no pass reads."""

_NOTE = "the tables alone: not the vectors, and not the graph database"


def write_tables(generation: Generation, folder: Path) -> Written:
    """Write the tables and views into an empty folder: a Parquet file each, and all of them into one database.

    DuckDB 1.1 and later can read it. Rows that do not fit into the memory of a database spill beside the folder.

    Raises:
        StoreError: a table is missing or damaged.
        OSError, duckdb.Error: the disk refuses.
    """
    rows: dict[str, int] = {}
    with spilling(folder.parent) as connection:
        connection.execute("SET preserve_insertion_order = true")  # batches of rows are held back, not whole results
        create_views(connection, generation, temporary=False)
        add_derived(connection)
        group, derived = _group_rows(connection), derived_sql()
        # The oldest format; 1.0 itself fails on columns of lists that are null in every row.
        connection.execute(
            f"ATTACH {quoted(folder / DATABASE)} AS exported (STORAGE_VERSION 'v1.0.0', ROW_GROUP_SIZE {group})"
        )
        tables = VIEWS.keys() - _OF_TODAY if generation.merges_passes() else VIEWS.keys() - _OF_FACTS
        for table in (name for name in VIEWS if name in tables):
            order = "ORDER BY ALL" if table in derived else ""  # the tables have one; several threads make views
            connection.execute(f'CREATE TABLE exported."{table}" AS FROM "{table}" {order}')
            path = quoted(folder / f"{table}.parquet")
            [(rows[f"{table}.parquet"],)] = connection.execute(
                f'COPY exported."{table}" TO {path} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group})'
            ).fetchall()
        connection.execute("USE exported")
        for comment in comments("TABLE", tables):
            connection.execute(comment)
        if generation.merges_passes():
            add_derived(connection, [*_OF_TODAY, *MACROS])
        connection.execute("USE memory")
        connection.execute("DETACH exported")
    return Written(rows | {DATABASE: sum(rows.values())}, (_NOTE,))


def _group_rows(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the rows of a group, fewer than DuckDB's usual number where documents are long."""
    [(length,)] = connection.sql("SELECT coalesce(avg(strlen(content)), 0) FROM raw_documents").fetchall()
    return max(_VECTOR, min(_MOST_ROWS, int(_GROUP_BYTES / max(length, 1)) // _VECTOR * _VECTOR))
