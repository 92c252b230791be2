"""Tables and figures of the documents that contain some chunks."""

from collections.abc import Iterable

import duckdb

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.views import add_derived, create_views
from lightrag_dagster.query.types import Chunk, Element
from lightrag_dagster.storage.duckdb import in_memory, unreadable
from lightrag_dagster.storage.snapshots.generations import Generation


def elements_of(generation: Generation, chunks: Iterable[Chunk]) -> list[Element]:
    """Return the tables and figures that overlap some chunks, each once, by source, path and place.

    Raises:
        StoreError: a table is missing or damaged.
    """
    found = list(chunks)
    documents = {place.doc_id for chunk in found for place in chunk.citations}
    parameters = {"documents": sorted(documents), "chunks": [chunk.chunk_id for chunk in found]}
    try:
        with in_memory() as connection:
            create_views(connection, generation, ["raw_documents", "chunks"])
            add_derived(connection, ["document_elements"], temporary=True)
            rows = connection.sql(read_sql(__package__, "elements"), params=parameters).to_arrow_table().to_pylist()
    except duckdb.Error as error:
        raise StoreError(f"the documents of {generation.id} cannot be read: {unreadable(error)}") from error
    return [Element(**row | {"chunk_ids": tuple(row["chunk_ids"])}) for row in rows]
