"""Vector tables of given rows, for tests."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pyarrow as pa

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.indexes.lance import open_database
from lightrag_dagster.indexes.vector_writer import add_vectors, open_to_write, pin_vectors, prepare_vectors
from lightrag_dagster.storage.duckdb import in_memory
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable


def bring_to(
    home: Home,
    table: str,
    wanted: pa.Table,
    vectors_of: Callable[[list[str]], Vectors],
    tag: str,
    dimensions: int,
    block: int = 1000,
) -> VectorTable:
    """Make a vector table hold `id` and `embedding_key` of the wanted rows, with the vectors of their ids."""
    with in_memory() as connection:
        connection.register("wanted", wanted.append_column("text", wanted["id"]))
        handle = open_to_write(home, table, dimensions)
        entry = prepare_vectors(handle, connection, tag, dimensions)
        missing = connection.sql("FROM missing ORDER BY id").to_arrow_table()

    async def blocks() -> AsyncIterator[tuple[pa.Table, Vectors]]:
        for start in range(0, missing.num_rows, block):
            rows = missing.slice(start, block)
            yield (
                rows.append_column("unread", pa.repeat(pa.scalar(0, pa.int32()), len(rows))),
                vectors_of(rows["id"].to_pylist()),
            )

    asyncio.run(add_vectors(handle, entry, blocks()))
    return pin_vectors(open_database(home), entry)
