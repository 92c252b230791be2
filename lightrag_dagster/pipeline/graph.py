"""Building the graph of a generation: arrays before it is published, a large graph database after that.

Each function is a step under the builder's lock, and does nothing if the step is finished.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lightrag_dagster.engines.factory import open_engine, shares_disk
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES
from lightrag_dagster.indexes import cypher
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import BuiltGraph, Graph, Manifest
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published, without_graph

ROWS_BEFORE_PUBLICATION = 2_000_000
"""Chunks, entities and relations up to which the graph database, which Cypher needs and no question, is built before a
snapshot is published: that takes about a minute."""

_COUNTED = ("chunks", "entities", "relations")

# Arrays and graph of fewer rows are built before a worker process has started.
_ROWS_FOR_WORKERS = 200_000


def build_graph(settings: Settings, *, database: bool = True) -> tuple[Generation, Graph | None]:
    """Build the adjacency arrays of the newest generation, and with `database` its graph database unless that is large.

    It is not built where the settings leave it out, either.

    With an engine that has several workers, they are built at once. Return the generation, and the counts of the graph
    database if it is built.

    Raises:
        IntegrityError: the tables, or the graph database, are not sound.
        StoreError: a table cannot be read, or the disk refuses.
    """
    from lightrag_dagster.indexes.adjacency import has_adjacency

    home = Home.of(settings)
    with building(home, STEP_SECONDS):
        generation = generations.newest_generation(home)
        rows = home.files.count_rows(path for table in _COUNTED for path in generation.table_files(table))
        builders: list[_Builder] = []
        if not has_adjacency(generation.path(generations.ADJACENCY)):
            builders.append(_build_arrays)
        small = rows <= ROWS_BEFORE_PUBLICATION
        if database and small and settings.builds_graph and not generation.has(generations.GRAPH_RECORD):
            builders.append(_build_database)
        name = settings.engine if rows >= _ROWS_FOR_WORKERS else "local"
        with open_engine(name) as engine:
            records = engine.map(partial(_build, generation), builders)
        if not shares_disk(name):
            home.files.open_folder(home.generation(generation.id), again=True)
        for record in filter(None, records):
            if not generation.has(generations.GRAPH_RECORD):  # a worker elsewhere has records of its own
                generation.write_record(generations.GRAPH_RECORD, record)
        is_built = generation.has(generations.GRAPH_RECORD)
        counts = generation.read_record(generations.GRAPH_RECORD, BuiltGraph).counts if is_built else None
    return generation, counts


def build_published_graph(home: Home) -> Manifest:
    """Build the graph database of the published snapshot, and return the snapshot.

    Raises:
        NoSnapshotError: nothing is published yet.
        IntegrityError, StoreError: see `build_graph`.
    """
    with building(home, STEP_SECONDS):
        if generation := without_graph(home):
            generations.remove_leftovers(home)
            cypher.build_graph(generation)
        return require_published(home)


_Builder = Callable[[Generation], list[Path]]


def _build(generation: Generation, builder: _Builder) -> BuiltGraph | None:
    """Build one thing of a generation, in any process; return the record of the graph database if that is built."""
    generations.fetch_in_worker(generation)
    generation.home.files.keep(builder(generation))
    is_built = generation.has(generations.GRAPH_RECORD)
    return generation.read_record(generations.GRAPH_RECORD, BuiltGraph) if is_built else None


def _build_arrays(generation: Generation) -> list[Path]:
    from lightrag_dagster.indexes.adjacency import ENTITY_COLUMNS, RELATION_COLUMNS, EvidenceFiles, build_adjacency
    from lightrag_dagster.indexes.facts import write_facts

    folder = generation.path(generations.ADJACENCY)
    entities = generation.read_table("entities", ENTITY_COLUMNS)
    relations = generation.read_table("relations", RELATION_COLUMNS)
    tables = ("entity_evidence", "relation_evidence", "chunks", "raw_documents")
    evidence = EvidenceFiles(*map(generation.table_files, tables))
    keeps_first = generation.inputs().merging.chunk_limit_method == "KEEP"
    facts = [generation.table_files(table) for table in MERGED_PASS_TABLES] if generation.merges_passes() else []
    more = partial(write_facts, files=facts) if facts else None
    build_adjacency(folder, entities, relations, evidence, keeps_first=keeps_first, more=more)
    return sorted(folder.iterdir())


def _build_database(generation: Generation) -> list[Path]:
    cypher.build_graph(generation)
    return [generation.path(generations.GRAPH)]
