"""Statements across the shards of a source: they read the files of all, and spill, so memory does not grow with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.storage.duckdb import in_memory, quoted, spilling
from lightrag_dagster.storage.files.atomic import read_parquet
from lightrag_dagster.storage.tables.shards import Shard

if TYPE_CHECKING:
    import duckdb


class PartitionedRows:
    """Rows in a folder, partitioned by the shards that need them."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema

    def of(self, shard: Shard) -> pa.Table:
        """Return the rows of a shard."""
        paths = sorted((self._folder / f"shard={shard.number}").glob("*.parquet"))
        return pa.concat_tables(
            [self._schema.empty_table(), *(read_parquet(path).cast(self._schema) for path in paths)]
        )


@contextmanager
def open_sql(scratch: Path, shards: int) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a database for statements over the files of a source: one that spills if it has several shards."""
    with in_memory() if shards == 1 else spilling(scratch) as connection:
        bits = (shards - 1).bit_length()
        connection.execute(f"CREATE TEMP MACRO shard_of(id) AS leading_bits(id, {bits})")
        yield connection


def partition(
    connection: "duckdb.DuckDBPyConnection", statement: str, folder: Path, schema: pa.Schema
) -> PartitionedRows:
    """Write the rows of a statement into a new folder, partitioned by its column `shard`."""
    folder.mkdir()
    connection.execute("SET partitioned_write_flush_threshold = 2048")  # rows are held back for each file
    connection.execute(
        f"COPY ({statement}) TO {quoted(folder)} "
        "(FORMAT parquet, COMPRESSION lz4, PARTITION_BY (shard), OVERWRITE_OR_IGNORE)"
    )
    return PartitionedRows(folder, schema)


def sql(name: str, package: str = __package__) -> str:
    """Return a statement of a package, from its folder `sql`."""
    return read_sql(package, f"sql/{name}")
