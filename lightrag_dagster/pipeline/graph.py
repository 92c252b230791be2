"""Building the graph of a generation: arrays before it is published, a large graph database after that.

Each function is a step under the builder's lock, and does nothing if the step is finished.
"""

from functools import partial

from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES
from lightrag_dagster.indexes import cypher
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published, without_graph

ROWS_BEFORE_PUBLICATION = 2_000_000
"""Chunks, entities and relations up to which the graph database, which Cypher needs and no question, is built before a
snapshot is published: that takes about a minute."""

_COUNTED = ("chunks", "entities", "relations")


def build_graph(settings: Settings, *, database: bool = True) -> Generation:
    """Build the adjacency arrays of the newest generation, and with `database` its graph database unless that is large.

    It is not built where the settings leave it out, either. Return the generation.

    Raises:
        IntegrityError: the tables, or the graph database, are not sound.
        StoreError: a table cannot be read, or the disk refuses.
    """
    from lightrag_dagster.indexes.adjacency import has_adjacency

    home = Home.of(settings)
    with building(home, STEP_SECONDS):
        generation = generations.newest_generation(home)
        if not has_adjacency(generation.path(generations.ADJACENCY)):
            _build_arrays(generation)
        rows = home.files.count_rows(path for table in _COUNTED for path in generation.table_files(table))
        if database and settings.builds_graph and rows <= ROWS_BEFORE_PUBLICATION:
            cypher.build_graph(generation)
    return generation


def has_large_graph(manifest: Manifest) -> bool:
    """Say whether the graph database of a snapshot is so large that it is built after publication."""
    return sum(manifest.rows[table] for table in _COUNTED) > ROWS_BEFORE_PUBLICATION


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


def _build_arrays(generation: Generation) -> None:
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
    generation.home.files.keep([folder])
