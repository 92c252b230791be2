"""Writing of a vector table in LanceDB, updated in place by differences; a tag marks the version of a generation.

The rows of the head are read from the head itself: rows that a killed run left are found, kept or replaced by the next
run. Readers of a tag do not see later writes.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import EmbeddingError, IntegrityError, StoreError, one_line
from lightrag_dagster.indexes.lance import lance_errors, open_database
from lightrag_dagster.indexes.vector_index import update_index
from lightrag_dagster.schemas import vector_schema
from lightrag_dagster.storage.duckdb import quoted
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable

_IDS_PER_STATEMENT = 10_000
_AT_ONCE = timedelta(milliseconds=1)  # For 0, LanceDB warns of readers.


def open_to_write(home: Home, table: str, dimensions: int) -> Any:
    """Open the newest version of a vector table, created when new.

    Raises:
        StoreError: The table cannot be read, or holds vectors of another size.
    """
    database, schema = open_database(home), vector_schema(dimensions)
    with lance_errors(table):
        try:
            handle = database.open_table(table)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            return database.create_table(table, schema=schema)
        if handle.schema.field("vector").type.list_size != dimensions:
            raise ValueError(f"it does not hold vectors of {dimensions} numbers")
        return handle if handle.schema == schema else write_anew(database, handle, dimensions)


def write_anew(database: Any, handle: Any, dimensions: int) -> Any:
    """Write the rows of an open version of a vector table into new files, as its newest version, and return that.

    Vectors of another layout, such as those of float32, become those of today. Raises errors of LanceDB.
    """
    schema = vector_schema(dimensions)
    rows = handle.search().select(schema.names).to_batches()
    return database.create_table(handle.name, data=rows, schema=schema, mode="overwrite")


def prepare_vectors(handle: Any, connection: DuckDBPyConnection, tag: str, dimensions: int) -> VectorTable:
    """Remove the rows that a vector table should not hold, and leave those that it lacks in the table `missing`.

    Args:
        handle: The result of `open_to_write`; one writer at a time.
        connection: A database where `wanted` has columns `id`, `embedding_key` and `text`; it may name a row again.
            `missing` gets the first two, once each.
        tag: Name for the version.
        dimensions: Length of every vector.

    Raises:
        IntegrityError: An id is wanted with two keys.
        StoreError: The table cannot be read or written.
    """
    table = handle.name
    with scan_errors(table):
        connection.register("held", handle.search().select(["id", "embedding_key"]).to_batches())
        [counts] = connection.execute(read_sql(__package__, "vector_changes")).fetchall()
        connection.unregister("held")
    rows, ids, length, upserted, deleted = counts
    if rows != ids:
        raise IntegrityError(f"vector table {table}: an id is wanted twice; delete the generation and run again")
    with scan_errors(table):
        for batch in connection.sql("FROM outdated").to_arrow_reader(_IDS_PER_STATEMENT):
            handle.delete(f"id IN ({', '.join(map(quoted, batch['id'].to_pylist()))})")
    entry = VectorTable(table=table, tag=tag, rows=rows, dimensions=dimensions, upserted=upserted, deleted=deleted)
    return entry.model_copy(update={"characters": length})


async def add_vectors(handle: Any, entry: VectorTable, blocks: AsyncIterator[tuple[pa.Table, Vectors]]) -> None:
    """Write the missing rows of a vector table, each block when it arrives; `pin_vectors` then makes them readable.

    Args:
        handle: The table that was prepared.
        entry: The result of `prepare_vectors`.
        blocks: `id`, `embedding_key` and `unread` of missing rows, each once, and their vectors in that order.

    Raises:
        EmbeddingError: Vectors of the wrong number, size or value; that block is not written.
        StoreError: The table cannot be written.
    """
    written = 0
    async for keys, vectors in blocks:
        rows = _rows(entry, keys, vectors)
        with lance_errors(entry.table):
            handle.add(rows)
        written += rows.num_rows
    if written != entry.upserted:
        raise EmbeddingError(f"{entry.table}: {written} vectors came for {entry.upserted} rows; run again")


def count_unread(handle: Any, entry: VectorTable) -> VectorTable:
    """Return the entry with the numbers of rows with text that no vector has, and of their characters."""
    with lance_errors(entry.table):
        unread = handle.search().select(["unread"]).to_arrow()["unread"].to_numpy()
    return entry.model_copy(update={"cut": int(np.count_nonzero(unread)), "unread": int(unread.sum())})


def pin_vectors(database: Any, entry: VectorTable) -> VectorTable:
    """Index a large table, and tag its newest version; return the entry with the way the table is searched.

    It may run in another process; LanceDB's index takes the memory and the processors of one machine.

    Raises:
        StoreError: The table cannot be read or written.
    """
    with lance_errors(entry.table):
        handle = database.open_table(entry.table)
        search = update_index(handle, entry.table)
        pin(handle, entry.tag)
    return entry.model_copy(update={"search": search})


def pin(handle: Any, tag: str) -> None:
    """Give the newest version of a table a tag, or move the tag there."""
    try:
        handle.tags.create(tag, handle.version)
    except RuntimeError as error:  # a list of tags would read each of them
        if "already exists" not in str(error):
            raise
        handle.tags.update(tag, handle.version)


def rewrite_vectors(home: Home, entry: VectorTable) -> None:
    """Write the rows of a tagged version into new files, index them, and move the tag there; nothing is removed yet.

    LanceDB marks rows as deleted and keeps them in their files, also for the versions that are left.

    Raises StoreError when the table cannot be read or written; the tag stays.
    """
    database = open_database(home)
    with lance_errors(entry.table):
        tagged = database.open_table(entry.table)
        tagged.checkout(entry.tag)
        handle = write_anew(database, tagged, entry.dimensions)
        update_index(handle, entry.table)
        handle.optimize()
        pin(handle, entry.tag)


def remove_other_versions(home: Home, entry: VectorTable) -> None:
    """Remove every version of a vector table except the tagged one, which is the newest.

    Raises StoreError when another one is left, since a process writes the table.
    """
    with lance_errors(entry.table):
        handle = open_database(home).open_table(entry.table)
        for tag in set(handle.tags.list()) - {entry.tag}:
            handle.tags.delete(tag)
        handle.optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)
        if {one["version"] for one in handle.list_versions()} != {handle.tags.get_version(entry.tag)}:
            raise StoreError(f"vector table {entry.table} still has older versions; end what writes it, and run again")


@contextmanager
def scan_errors(table: str) -> Iterator[None]:
    """Raise errors of LanceDB, or of DuckDB reading from it, as a StoreError that names the table."""
    with lance_errors(table):
        try:
            yield
        except DuckDBError as error:
            reason = one_line(error).partition(" Detail: Python exception")[0]  # which is a traceback
            raise OSError(reason) from error


def _rows(entry: VectorTable, keys: pa.Table, vectors: Vectors) -> pa.Table:
    if vectors.shape != (keys.num_rows, entry.dimensions):
        raise EmbeddingError(
            f"{entry.table}: vectors of shape {vectors.shape} where {(keys.num_rows, entry.dimensions)} is expected; "
            "make embedding.dimensions what the model returns"
        )
    with np.errstate(over="ignore"):
        rounded = np.asarray(vectors, dtype=np.float16)
    if not np.isfinite(rounded).all():
        bad = keys["id"][int(np.isfinite(rounded).all(axis=1).argmin())]
        raise EmbeddingError(
            f"{entry.table}: the vector of {bad} is not finite, or has a number over 65,504, as no unit vector has; "
            "check the embedding model and run again"
        )
    column = pa.FixedSizeListArray.from_arrays(pa.array(rounded.ravel()), entry.dimensions)
    schema = vector_schema(entry.dimensions)
    return keys.append_column("vector", column).select(schema.names).cast(schema)
