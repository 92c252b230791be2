"""Invariant I5: whether the tables, the vectors and the graph of a generation say the same, and are whole."""

from collections.abc import Iterator
from importlib.resources import files as package_files

import duckdb

from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.indexes.graph import NODES, RELATIONSHIPS, graph_tables, open_graph
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage import generations
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.manifest import VECTOR_TABLES, Vectors

_STEPS = (
    *MERGED_TABLES,
    generations.VECTORS,
    generations.GRAPH,
    generations.GRAPH_COUNTS,
    generations.ADJACENCY,
    generations.VIEWS,
)


def findings(generation: Generation) -> list[str]:
    """Return what is wrong with a generation, one line a kind of problem; nothing when it may be published.

    Endpoints and cited chunks and documents exist, ids are unique, vectors and graph hold exactly the rows of the
    tables, the graph in both directions, and vectors are finite and of the right size.

    Raises:
        StoreError: a table or store is damaged.
    """
    if unfinished := [step for step in _STEPS if not generation.has(step)]:
        return [f"not finished: {', '.join(unfinished)}"]
    vectors = generation.read_record(generations.VECTORS, Vectors)
    if missing := [table for table in VECTOR_TABLES if table not in vectors.tables]:
        return [f"not finished: {', '.join(missing)}"]
    with duckdb.connect() as connection:
        create_views(connection, generation)
        graph_tables(connection)
        problems = _stored_vectors(connection, generation, vectors)
        with open_graph(generation.path(generations.GRAPH)) as graph:
            for table in NODES:
                connection.register(f"stored_{table}", graph.nodes(table))
            for table in RELATIONSHIPS:
                connection.register(f"forward_{table}", graph.edges(table, forward=True))
                connection.register(f"backward_{table}", graph.edges(table, forward=False))
        connection.execute("SET VARIABLE identity = $1", [vectors.identity])
        try:
            rows = [row for question in _questions(connection) for row in connection.execute(question).fetchall()]
        except duckdb.Error as error:
            raise StoreError(f"{generation.id} cannot be checked: {one_line(error)}; run again") from error
    return problems + [f"{problem} ({times} times, first {first})" for problem, times, first in sorted(rows)]


def _questions(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Create the views that the questions are about, then yield each: problem, how many times, the first of them."""
    script = package_files(__package__).joinpath("integrity.sql").read_text(encoding="utf-8")
    for statement in duckdb.extract_statements(script):
        if statement.type == duckdb.StatementType.SELECT:
            found = statement.query.rstrip().removesuffix(";")
            yield f"SELECT problem, count(*), min(id) FROM ({found}) GROUP BY problem"
        else:
            connection.execute(statement)


def _stored_vectors(connection: duckdb.DuckDBPyConnection, generation: Generation, vectors: Vectors) -> list[str]:
    """Register the ids of every vector table, and return what is wrong with the vectors themselves."""
    problems = []
    for table, entry in vectors.tables.items():
        reader = open_vectors(generation.home, entry)
        connection.register(f"stored_{table}", reader.rows(["id", "embedding_fingerprint"]))
        if entry.dimensions != vectors.dimensions:
            problems.append(
                f"{table} holds vectors of {entry.dimensions} numbers, the embedder gives {vectors.dimensions}"
            )
        if unusable := reader.unusable():
            problems.append(f"a vector of {table} is not finite ({len(unusable)} times, first {min(unusable)})")
    return problems
