"""Integrity of a generation: tables, vectors and arrays hold the same rows, and every reference leads somewhere."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.indexes.adjacency import Adjacency, has_adjacency
from lightrag_dagster.indexes.lance import open_all_vectors
from lightrag_dagster.indexes.vector_writer import scan_errors
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage.manifests import VECTOR_TABLES, Vectors
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation

_CHECKED_COLUMNS = {"raw_documents": ["doc_id"], "chunks": ["doc_id", "chunk_id", "content", "context"]}


def findings(generation: Generation, *, read_vectors: bool = True) -> list[str]:
    """Return the problems of a generation, one line for each kind; an empty list when it may be published.

    Endpoints and cited chunks and documents exist, ids are unique, counts and arrays are those of all evidence, vectors
    hold exactly the rows of the tables, and are of the right size. With `read_vectors`, each number is read to see that
    it is finite, as the writer saw already: vectors are nearly all bytes of a generation.

    Raises:
        StoreError: a table or store is damaged.
    """
    if missing := unfinished(generation):
        return [f"not finished: {', '.join(missing)}"]
    vectors = generation.read_record(generations.VECTORS, Vectors)
    with checked_tables(generation, _CHECKED_COLUMNS) as connection:
        problems = _vector_problems(connection, generation, vectors, read_vectors=read_vectors)
        connection.execute("SET VARIABLE identity = $1", [vectors.identity])
        problems += run_checks(connection, read_sql(__package__, "integrity"))
        _register_arrays(connection, generation)
        return problems + run_checks(connection, read_sql(__package__, "integrity_evidence"))


def unfinished(generation: Generation) -> list[str]:
    """Return the tables, views and graph that a generation lacks yet; raises StoreError when a record is damaged."""
    missing = [step for step in (*MERGED_TABLES, generations.VIEWS) if not generation.has(step)]
    vectors = generation.read_record(generations.VECTORS, Vectors) if generation.has(generations.VECTORS) else None
    missing += [table for table in VECTOR_TABLES if vectors is None or table not in vectors.tables]
    return missing if has_adjacency(generation.path(generations.ADJACENCY)) else [*missing, "knowledge_graph"]


@contextmanager
def checked_tables(generation: Generation, columns: Mapping[str, list[str]]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the merged tables of a generation and columns of those of sources, for checks."""
    with open_tables(generation, [*columns, *MERGED_TABLES], columns) as connection:
        connection.execute(read_sql(__package__, "integrity_macros"))
        yield connection


def run_checks(connection: duckdb.DuckDBPyConnection, script: str) -> list[str]:
    """Run a script of checks; return each problem with its number of rows and the first id."""
    rows = []
    for statement in duckdb.extract_statements(script):
        if statement.type == duckdb.StatementType.SELECT:
            check = statement.query.rstrip().removesuffix(";")
            rows += connection.execute(f"SELECT problem, count(*), min(id) FROM ({check}) GROUP BY problem").fetchall()
        else:
            connection.execute(statement)
    return [f"{problem} ({times} times, first {first})" for problem, times, first in sorted(rows)]


def _register_arrays(connection: duckdb.DuckDBPyConnection, generation: Generation) -> None:
    """Register the rows of ids, with the number of chunks listed, and each pair of a row and a chunk in the lists."""
    graph = Adjacency.open(generation.path(generations.ADJACENCY))
    chunks = graph.chunks.rows.column(0)
    connection.register("chunk_row", pa.table({"id": chunks, "row": np.arange(len(chunks), dtype=np.int32)}))
    for kind, table, lists in (
        ("entity", graph.entities, graph.entity_chunks),
        ("relation", graph.relations, graph.relation_chunks),
    ):
        rows = np.arange(len(table.ids), dtype=np.int32)
        owners = pa.table({"id": table.rows.column(0), "row": rows, "chunks": lists.lengths})
        pairs = pa.table({"row": rows[lists.owners], "chunk": np.asarray(lists.values)})
        connection.register(f"{kind}_row", owners)
        connection.register(f"stored_{kind}_chunks", pairs)
    connection.execute(read_sql(__package__, "evidence"))


def _vector_problems(
    connection: duckdb.DuckDBPyConnection, generation: Generation, vectors: Vectors, *, read_vectors: bool
) -> list[str]:
    """Register the ids of every vector table, and return the problems of the vectors themselves."""
    problems, readers = [], open_all_vectors(generation.home, vectors.tables)
    with ThreadPoolExecutor(max(1, len(readers))) as threads:  # of a bucket, reading is a row of requests
        looks = {table: threads.submit(reader.unusable) for table, reader in readers.items() if read_vectors}
        for table, entry in vectors.tables.items():
            with scan_errors(entry.table):
                connection.register("stored", readers[table].keys())
                connection.execute(f"CREATE TEMP TABLE stored_{table} AS FROM stored")
                connection.unregister("stored")
            if entry.dimensions != vectors.dimensions:
                problems.append(
                    f"{table} holds vectors of {entry.dimensions} numbers, the embedder gives {vectors.dimensions}"
                )
            if read_vectors and (unusable := looks[table].result()):
                problems.append(f"a vector of {table} is not finite ({len(unusable)} times, first {min(unusable)})")
    return problems
