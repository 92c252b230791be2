"""The graph database in Kùzu: built once by bulk COPY, then only read.

It is written by `graph_process`, compared with the tables here, and asked by `process`.

(Document)-[HAS_CHUNK]->(Chunk)-[MENTIONS]->(Entity)-[RELATED]->(Entity)

It is never updated: Kùzu 0.11.3, the last release, leaves edges behind when a node is deleted.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from lightrag_dagster.core.child import Child, ChildEndedError, Pool
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import IntegrityError, StoreError, one_line
from lightrag_dagster.indexes.cypher.database import Connection, connected, result_of
from lightrag_dagster.indexes.cypher.graph_process import STATEMENT_SECONDS
from lightrag_dagster.indexes.integrity import checked_tables, run_checks
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage.duckdb import in_memory, quoted
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.manifests import BuiltGraph, FileSum
from lightrag_dagster.storage.snapshots.generations import GRAPH, GRAPH_RECORD, LEAST_ROOM_OF_GRAPH, Generation

NODES = {
    "Document": "doc_id STRING PRIMARY KEY, source STRING, path STRING, title STRING",
    "Chunk": "chunk_id STRING PRIMARY KEY, tokens INT32",
    "Entity": "entity_id STRING PRIMARY KEY, name STRING, type STRING, description STRING, degree INT64",
}
"""Node tables and their columns; the first is the key."""

RELATIONSHIPS = {
    "HAS_CHUNK": "FROM Document TO Chunk, chunk_index INT32, char_start INT64, char_end INT64",
    "MENTIONS": "FROM Chunk TO Entity, mentions INT64",
    "RELATED": "FROM Entity TO Entity, relation_id STRING, keywords STRING, description STRING, weight DOUBLE,"
    " rank INT64",
}
"""Relationship tables: the tables they join, and their columns."""

# Bytes.
_BUFFER_POOL = 1 << 30

# COPY holds all rows of a relationship table in memory: up to 1.5 GiB for 1,500,000 relations (354 MB of Parquet). In
# three slices it took four times as long, for a graph of twice the size.
_POOL_FOR_RELATIONS = 16

# A factor: with 165,000 relations, graph and copied files took twice the size of the Parquet tables.
_ROOM_FOR_TABLES = 3
_LITTLE_ROOM = 1 << 20  # bytes

GRAPH_COLUMNS = {
    "raw_documents": ["doc_id", "source", "path", "title", "status"],
    "chunks": ["doc_id", "chunk_id", "chunk_index", "tokens", "char_start", "char_end"],
}
"""Tables of sources that the graph is made of, and their columns in it; it is made of all merged tables, too."""

_writers = Pool("lightrag_dagster.indexes.cypher.graph_process")


def build_graph(generation: Generation) -> None:
    """Write `graph.kuzu` and then `graph.json`, unless the generation has them; raises as `write_graph`."""
    if generation.has(GRAPH_RECORD):
        return
    target = generation.path(GRAPH)
    write_graph(generation, target)
    generation.write_record(GRAPH_RECORD, BuiltGraph(file=FileSum.of(target)))


def write_graph(generation: Generation, target: Path) -> None:
    """Write the graph of a generation to a file, whole or not at all.

    Raises:
        IntegrityError: the graph differs from the tables; it is not kept.
        StoreError: a table cannot be read, names a node that does not exist, or the disk refuses.
    """
    _require_room(generation, target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{GRAPH}.") as scratch:
        built = Path(scratch) / GRAPH
        _copy_tables(generation, built)
        if problems := graph_findings(generation, built):
            raise IntegrityError(f"the graph of {generation.id} is not kept: {'; '.join(problems)}; run again")
        atomic.sync(built)
        built.replace(target)
        atomic.sync(target.parent)


def _require_room(generation: Generation, folder: Path) -> None:
    """Raise StoreError when the graph would not fit: a full disk is found late, and ends Kùzu's process."""
    tables = sum(path.stat().st_size for name in MERGED_TABLES for path in generation.table_files(name))
    needed, free = LEAST_ROOM_OF_GRAPH + _ROOM_FOR_TABLES * tables, shutil.disk_usage(folder).free
    if free < needed:
        raise StoreError(
            f"the graph of {generation.id} needs {needed / 1e6:.0f} MB, and {folder} has {free / 1e6:.0f} MB left; "
            "make room on the disk and run again"
        )


def graph_findings(generation: Generation, path: Path) -> list[str]:
    """Return the differences of a graph database, read in both directions, and the tables of a generation.

    Raises:
        StoreError: a table or the graph is damaged.
    """
    with checked_tables(generation, GRAPH_COLUMNS) as connection:
        _graph_tables(connection)
        with open_graph(path) as graph:
            for name, keys in stored_keys(graph).items():
                connection.register(name, keys)
        return run_checks(connection, read_sql(__package__, "integrity_graph"))


def stored_keys(graph: Connection) -> dict[str, pa.Table]:
    """Return the keys of each node table (`id`), and of those that each relationship table joins (`src`, `tgt`).

    The latter are read from its forward and its backward lists, which Kùzu keeps apart.
    """
    keys = {table: columns.split()[0] for table, columns in NODES.items()}
    asked = {f"stored_{table}": f"MATCH (n:{table}) RETURN n.{key} AS id" for table, key in keys.items()}
    for table, columns in RELATIONSHIPS.items():
        _, source, _, target = columns.partition(",")[0].split()
        for way, hint in (("forward", "(a JOIN r) JOIN b"), ("backward", "a JOIN (r JOIN b)")):
            joined = f"MATCH (a:{source})-[r:{table}]->(b:{target}) HINT {hint}"
            asked[f"{way}_{table}"] = f"{joined} RETURN a.{keys[source]} AS src, b.{keys[target]} AS tgt"
    found = {}
    for name, cypher in asked.items():
        try:
            with result_of(graph, cypher) as result:
                found[name] = result.get_as_arrow(-1)
        except RuntimeError as error:
            raise StoreError(f"the graph cannot be read: {one_line(error)}; run `lightrag-dagster run`") from error
    return found


def _graph_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Add one DuckDB view for each node and relationship table, to a database that has the views of a generation."""
    connection.execute(read_sql("lightrag_dagster.indexes", "evidence"))
    connection.execute(read_sql(__package__, "graph_tables"))


@contextmanager
def open_graph(path: Path) -> Iterator[Connection]:
    """Open a finished graph read-only, any number of times, in any number of processes.

    Raises:
        StoreError: the file is missing or damaged.
    """
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(connected(str(path), _BUFFER_POOL, read_only=True))
        except (RuntimeError, OSError) as error:
            raise StoreError(
                f"the graph {path} cannot be opened: {one_line(error)}; run `lightrag-dagster run --verify`"
            ) from error
        yield connection


def _copy_tables(generation: Generation, target: Path) -> None:
    """Fill a new database by bulk COPY; raises StoreError."""
    try:
        _writers.ask(partial(_fill, generation, target))
    except (ChildEndedError, _KuzuError, TimeoutError, duckdb.Error) as error:
        said = f"Kùzu's process ended{error}" if isinstance(error, ChildEndedError) else one_line(error)
        full = ", and the disk is full: make room," if shutil.disk_usage(target.parent).free < _LITTLE_ROOM else ";"
        raise StoreError(f"the graph of {generation.id} cannot be built: {said}{full} run again") from error


class _KuzuError(Exception):
    """A graph cannot be written."""


def _fill(generation: Generation, target: Path, writer: Child) -> None:
    definitions = {name: ("NODE", columns) for name, columns in NODES.items()} | {
        name: ("REL", columns) for name, columns in RELATIONSHIPS.items()
    }
    relations = sum(path.stat().st_size for path in generation.table_files("relations"))
    _tell(writer, json.dumps([str(target), max(_BUFFER_POOL, _POOL_FOR_RELATIONS * relations)]))
    with in_memory() as tables:
        create_views(tables, generation, [*GRAPH_COLUMNS, *MERGED_TABLES])
        _graph_tables(tables)
        for done, (name, (kind, columns)) in enumerate(definitions.items()):
            report("graph", done, len(definitions))
            parquet = target.with_name(f"{name}.parquet")
            tables.execute(f'COPY (FROM "{name}") TO {quoted(parquet)} (FORMAT parquet)')
            _run(writer, f"CREATE {kind} TABLE {name}({columns})")
            _run(writer, f"COPY {name} FROM '{parquet.name}'")
            parquet.unlink()
    _run(writer, "CHECKPOINT")
    _run(writer, "")
    report("graph", len(definitions), len(definitions))


def _run(writer: Child, statement: str) -> None:
    try:
        _tell(writer, statement)
    except ChildEndedError as error:  # a second attempt would not help either
        raise _KuzuError(f"Kùzu's process ended{error}") from error


def _tell(writer: Child, message: str) -> None:
    writer.send(message.encode())
    if problem := writer.receive(STATEMENT_SECONDS):
        raise _KuzuError(problem.decode("utf-8", "replace"))
