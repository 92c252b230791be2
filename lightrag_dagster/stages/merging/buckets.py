"""The merge cut into buckets: its steps, each from files of one bucket or of all to files of one bucket.

A bucket holds the rows whose ids begin with the same bits, so the buckets in order are the sorted table, and their
number shows in no row. A step may run in any process; it writes the same files again when it is repeated.

choose      all chunks and extractions   → which extraction of a chunk counts, at which position, and who holds it
deal        mentions of some sources     → evidence of each entity and relation, and the ends of relations, by bucket
group       evidence of a bucket         → a row an entity or relation, with its distinct descriptions
finish      groups and summaries         → the rows of `entities` or `relations`, sorted
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.schemas import (
    CHUNKS,
    ENTITY_EVIDENCE,
    ENTITY_MENTIONS,
    EXTRACTIONS,
    MERGED_TABLES,
    RELATION_EVIDENCE,
    RELATION_MENTIONS,
    SORT_KEYS,
)
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.inputs import Files, MergeInput
from lightrag_dagster.storage import files
from lightrag_dagster.storage.memory import view_files

ROWS_PER_BUCKET = 500_000
"""Mentions; a bucket of so many is grouped within DuckDB's memory limit."""

_MOST_BITS = 12
_INDEX = pa.field("chunk_index", pa.int32())
_DEALT = {
    "entity_evidence": ENTITY_EVIDENCE.append(_INDEX),
    "relation_evidence": pa.schema(
        [*RELATION_EVIDENCE, _INDEX, pa.field("first_id", pa.string()), pa.field("second_id", pa.string())]
    ),
    "endpoint": pa.schema(
        [(name, pa.string()) for name in ("entity_id", "relation_id", "name", "description", "chunk_id")]
        + [(name, pa.string()) for name in ("source", "path")]
        + [_INDEX]
    ),
}
_SMALL_ROWS = 50_000


@dataclass(frozen=True)
class Workspace:
    """Where the steps of one merge write, and by which rules they work; there are 2 ** `bits` buckets."""

    folder: Path
    bits: int
    variables: database.Variables
    workers: int
    small: bool

    @property
    def buckets(self) -> range:
        """The numbers of the buckets."""
        return range(1 << self.bits)

    def path(self, table: str, bucket: int | None = None) -> Path:
        """Return the file of a step, of one bucket or of all."""
        return self.folder / (f"{table}.parquet" if bucket is None else f"{table}-{bucket:04}.parquet")

    def dealt(self, table: str, bucket: int) -> list[Path]:
        """Return the files of a bucket that `deal` wrote."""
        return sorted((self.folder / table / f"bucket={bucket}").glob("*.parquet"))

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open an empty database with the rules of the merge; raises StoreError when the disk refuses."""
        opened = (
            database.open_small_database(self.variables)
            if self.small
            else database.open_database(self.folder, self.variables, self.workers)
        )
        with opened as connection:
            yield connection

    def write(self, connection: duckdb.DuckDBPyConnection, query: str, table: str, bucket: int | None = None) -> None:
        """Write the rows of a query to the file of a step."""
        connection.execute(f"COPY ({query}) TO '{_quoted(self.path(table, bucket))}' (FORMAT parquet, COMPRESSION lz4)")


def workspace(
    folder: Path, inputs: Sequence[MergeInput], variables: database.Variables, engine: Engine, bits: int | None
) -> Workspace:
    """Return a workspace, with as many buckets as the mentions need or with 2 ** `bits`."""
    rows = sum(files.count_rows(path) for one in inputs for path in one.entity_mentions + one.relation_mentions)
    needed = min(max(rows - 1, 0) // ROWS_PER_BUCKET, (1 << _MOST_BITS) - 1).bit_length()
    bits = needed if bits is None else bits
    return Workspace(folder, bits, variables, engine.workers if bits else 1, small=rows <= _SMALL_ROWS)


def choose(space: Workspace, inputs: Sequence[MergeInput]) -> None:
    """Write which extraction and position of each chunk count, and which documents hold it."""
    with space.open() as connection:
        view_files(connection, "chunk", CHUNKS, [path for one in inputs for path in one.chunks])
        view_files(connection, "extraction", EXTRACTIONS, [path for one in inputs for path in one.extractions])
        database.run(connection, "choose")
        for table in ("chosen", "citation"):
            space.write(connection, f"FROM {table}", table)


def deal(space: Workspace, task: tuple[int, tuple[Files, Files]]) -> None:
    """Deal the mentions in some files that count to the buckets of their entities and relations."""
    number, (entities, relations) = task
    with space.open() as connection:
        connection.read_parquet(str(space.path("chosen"))).create_view("chosen")
        view_files(connection, "entity_mention", ENTITY_MENTIONS, entities)
        view_files(connection, "relation_mention", RELATION_MENTIONS, relations)
        deal_mentions(connection)
        for table, key in (
            ("entity_evidence", "entity_id"),
            ("relation_evidence", "relation_id"),
            ("endpoint", "entity_id"),
        ):
            (space.folder / table).mkdir(exist_ok=True)
            connection.execute(
                f"COPY (SELECT *, bucket_of({key}, {space.bits}) AS bucket FROM {table})"
                f" TO '{_quoted(space.folder / table)}' (FORMAT parquet, COMPRESSION lz4, PARTITION_BY (bucket),"
                f" FILENAME_PATTERN 'part-{number}-{{i}}', OVERWRITE_OR_IGNORE)"
            )


def deal_mentions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of evidence from `entity_mention`, `relation_mention` and `chosen`."""
    database.name_entities(
        connection,
        "SELECT name FROM entity_mention UNION SELECT src FROM relation_mention UNION SELECT tgt FROM relation_mention",
    )
    database.run(connection, "deal")


def group_entities(space: Workspace, bucket: int) -> None:
    """Write what the mentions of a bucket's entities yield, and their evidence."""
    with space.open() as connection:
        for table in ("entity_evidence", "endpoint"):
            view_files(connection, table, _DEALT[table], space.dealt(table, bucket))
        connection.read_parquet(str(space.path("citation"))).create_view("citation")
        database.run(connection, "group_entities")
        space.write(connection, _with_provenance("entity"), "entity_group", bucket)
        _write_evidence(connection, space, "entity_evidence", bucket)


def group_relations(space: Workspace, bucket: int) -> None:
    """Write what the mentions of a bucket's relations yield, and their evidence; all entities are grouped before."""
    with space.open() as connection:
        table = "relation_evidence"
        view_files(connection, table, _DEALT[table], space.dealt(table, bucket))
        names = [str(space.path("entity_group", one)) for one in space.buckets]
        connection.read_parquet(names).create_view("entity_group")
        connection.read_parquet(str(space.path("citation"))).create_view("citation")
        database.run(connection, "group_relations")
        space.write(connection, _with_provenance("relation"), "relation_group", bucket)
        _write_evidence(connection, space, table, bucket)


def finish(space: Workspace, task: tuple[str, int]) -> Path:
    """Write the rows of `entities` or `relations` of a bucket, in order, and return the file."""
    table, bucket = task
    with space.open() as connection:
        group = {"entities": "entity_group", "relations": "relation_group"}[table]
        connection.read_parquet(str(space.path(group, bucket))).create_view(group)
        connection.read_parquet(str(space.path("summary"))).create_view("summary")
        database.run(connection, f"describe_{table}")
        rows = database.fetch(connection, database.read_statement(f"finish_{table}"), MERGED_TABLES[table])
    path = space.path(table, bucket)
    pq.write_table(rows, path, compression="lz4")
    return path


def _with_provenance(kind: str) -> str:
    key = f"{kind}_id"
    return f"SELECT g.*, p.* EXCLUDE (id) FROM {kind}_group g JOIN provenance('{kind}_statement') p ON p.id = g.{key}"


def _write_evidence(connection: duckdb.DuckDBPyConnection, space: Workspace, table: str, bucket: int) -> None:
    rows = database.fetch(connection, f"FROM {table} ORDER BY {', '.join(SORT_KEYS[table])}", MERGED_TABLES[table])
    pq.write_table(rows, space.path(table, bucket), compression="lz4")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
