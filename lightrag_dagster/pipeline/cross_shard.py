"""Statements across the shards of a source: they read the files of all, and spill, so memory does not grow with it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lightrag_dagster.storage.duckdb import in_memory, quoted, spilling
from lightrag_dagster.storage.files.atomic import read_parquet
from lightrag_dagster.storage.tables.shards import Shard

if TYPE_CHECKING:
    import duckdb


RowsOf = Callable[[Shard], pa.Table]


@contextmanager
def open_sql(scratch: Path, shards: int) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a database for statements over the files of a source: one that spills if it has several shards."""
    with in_memory() if shards == 1 else spilling(scratch) as connection:
        bits = (shards - 1).bit_length()
        connection.execute(f"CREATE TEMP MACRO shard_of(id) AS leading_bits(id, {bits})")
        yield connection


def partition(connection: "duckdb.DuckDBPyConnection", statement: str, folder: Path, schema: pa.Schema) -> RowsOf:
    """Write the rows of a statement into a new folder, by its column `shard`; return a function that reads them."""
    folder.mkdir()
    connection.execute("SET partitioned_write_flush_threshold = 2048")  # rows are held back for each file
    connection.execute(
        f"COPY ({statement}) TO {quoted(folder)} "
        "(FORMAT parquet, COMPRESSION lz4, PARTITION_BY (shard), OVERWRITE_OR_IGNORE)"
    )

    def rows_of(shard: Shard) -> pa.Table:
        paths = sorted((folder / f"shard={shard.number}").glob("*.parquet"))
        return pa.concat_tables([schema.empty_table(), *(read_parquet(path).cast(schema) for path in paths)])

    return rows_of
