"""One immutable folder a generation: what the merge of the accepted tables, and every step after it, yields.

A generation is named by a hash of its inputs, so the same inputs are the same folder, and each finished step is a
file in it. A run that finds the file has nothing to do; a run that was killed leaves none, and is repeated.

generation.json                       what the merge read (GenerationInputs)
<merged table>.parquet                entities, relations, entity_evidence, relation_evidence
vectors.json, corpus_state.npy        the vector tables, and what their embedder knows of the corpus
graph.kuzu, graph.json, adjacency/    the graph, its counts, and the arrays that queries use
views.duckdb                          views over the tables above and the accepted versions
manifest.json                         written when it is published
"""

import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lightrag_dagster.core import identity
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import MERGED_TABLES, SORT_KEYS, SOURCE_TABLES
from lightrag_dagster.storage import files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import GenerationInputs, Pointer, R, Record, read_record
from lightrag_dagster.storage.tables import SourceTables

INPUTS = "generation.json"
VECTORS = "vectors.json"
CORPUS_STATE = "corpus_state.npy"
GRAPH = "graph.kuzu"
GRAPH_COUNTS = "graph.json"
ADJACENCY = "adjacency"
VIEWS = "views.duckdb"
MANIFEST = "manifest.json"


def generation_id(inputs: GenerationInputs) -> str:
    """Return the name of the generation that these inputs yield."""
    return "gen-" + identity.digest(inputs.model_dump(mode="json"))


@dataclass(frozen=True)
class Generation:
    """One generation of a home. Nothing is read until asked for."""

    home: Home
    id: str

    def path(self, name: str) -> Path:
        """Return a file or folder of the generation."""
        return self.home.generation(self.id) / name

    def has(self, name: str) -> bool:
        """Say whether the step that yields this merged table, file or folder is finished."""
        return self.path(f"{name}.parquet" if name in MERGED_TABLES else name).exists()

    def inputs(self) -> GenerationInputs:
        """Return what the merge read; raises StoreError when the record is missing or damaged."""
        return self.read_record(INPUTS, GenerationInputs)

    def table_files(self, table: str) -> list[Path]:
        """Return the Parquet files of a table: one, or for a per-source table one a source, in order of source."""
        if table in MERGED_TABLES:
            return [self.path(f"{table}.parquet")]
        tables = SourceTables(self.home)
        return [tables.path(table, source, used[table]) for source, used in sorted(self.inputs().sources.items())]

    def write_table(self, table: str, rows: pa.Table) -> None:
        """Sort and store a merged table; once stored it stays as it is.

        Raises:
            StoreError: the rows do not have the table's schema, or the disk refuses.
        """
        if not rows.schema.equals(MERGED_TABLES[table]):
            raise StoreError(f"rows for {table} have another schema: {rows.schema} instead of {MERGED_TABLES[table]}")
        path = self.path(f"{table}.parquet")
        if not path.exists():
            files.write_parquet(path, rows.sort_by([(column, "ascending") for column in SORT_KEYS[table]]))

    def write_tables(self, tables: Mapping[str, pa.Table]) -> None:
        """Store several merged tables as `write_table` does, two at a time: one keeps but one processor busy."""
        with ThreadPoolExecutor(2) as executor:
            list(executor.map(self.write_table, tables, tables.values()))

    def read_table(self, table: str, columns: list[str] | None = None) -> pa.Table:
        """Read a table whole, per-source tables one source after the other; raises StoreError."""
        parts = [files.read_parquet(path, columns) for path in self.table_files(table)]
        schema = (MERGED_TABLES | SOURCE_TABLES)[table]
        empty = schema.empty_table().select(columns or schema.names)
        return pa.concat_tables([empty, *parts])

    def write_record(self, name: str, record: Record) -> None:
        """Store a JSON record; raises StoreError when the disk refuses."""
        files.write_text(self.path(name), record.model_dump_json(indent=2))

    def read_record(self, name: str, kind: type[R]) -> R:
        """Read a JSON record; raises StoreError when it is missing or damaged."""
        record = read_record(self.path(name), kind)
        if record is None:
            raise StoreError(f"{self.path(name)} is missing; run `lightrag-dagster run` to rebuild it")
        return record


def start(home: Home, inputs: GenerationInputs) -> Generation:
    """Return the generation of these inputs, begun if it is new, without what a killed run left half-written.

    Raises:
        StoreError: its record is damaged or the disk refuses.
    """
    generation = Generation(home, generation_id(inputs))
    for leftover in home.generation(generation.id).glob(".*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    if not generation.has(INPUTS):
        generation.write_record(INPUTS, inputs)
    return generation


def set_newest(home: Home, generation: Generation) -> None:
    """Make a generation the one that the steps after the merge work on; raises StoreError."""
    files.write_text(home.newest, Pointer(id=generation.id).model_dump_json())


def newest(home: Home) -> Generation:
    """Return the generation that was begun last.

    Raises:
        StoreError: none was, or the pointer is damaged.
    """
    pointer = read_record(home.newest, Pointer)
    if pointer is None:
        raise StoreError(f"nothing was merged in {home.root} yet; materialise entities first")
    return Generation(home, pointer.id)
