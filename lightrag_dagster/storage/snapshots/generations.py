"""One immutable folder a generation: the merge of the accepted tables and everything built from it.

A generation is named by a hash of its inputs and merged tables, so the same content is the same folder. The merge
writes a scratch folder that is renamed when it is complete; each later step that is finished is a file in it. A run
that finds the file has nothing to do; a run that was killed leaves none, and the next one repeats the step.

generation.json                       what the merge read and made (GenerationRecord)
<merged table>.parquet                entities, relations, entity_evidence, relation_evidence
vectors.json, corpus_state.npy        the vector tables, and what their embedder knows of the corpus
adjacency/                            the graph as arrays, which queries use
graph.kuzu, graph.json                the graph database, and its record; a large one comes after the manifest
views.duckdb, views.json              views over the tables above and the accepted versions, and their record
manifest.json                         written when it is published
"""

import filecmp
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from lightrag_dagster.core import identity
from lightrag_dagster.errors import StoreError
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES, PASS_TABLES
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import CurationRecord, GenerationInputs, GenerationRecord
from lightrag_dagster.storage.records import Pointer, R, Record, read_record, write_record
from lightrag_dagster.storage.tables.source_tables import SourceTables

RECORD = "generation.json"
VECTORS = "vectors.json"
CORPUS_STATE = "corpus_state.npy"
GRAPH = "graph.kuzu"
GRAPH_RECORD = "graph.json"
LEAST_ROOM_OF_GRAPH = 16 << 20
"""The room on a disk that a graph database is not begun without. Bytes."""
ADJACENCY = "adjacency"
VIEWS = "views.duckdb"
VIEWS_RECORD = "views.json"
MANIFEST = "manifest.json"

_MERGED = MERGED_TABLES | MERGED_PASS_TABLES
TABLES = SOURCE_TABLES | PASS_TABLES | _MERGED
"""Every table of a snapshot; those of passes may be empty."""


@dataclass(frozen=True)
class Generation:
    """One generation of a home; its files are read when they are asked for."""

    home: Home
    id: str

    def path(self, name: str) -> Path:
        """Return a file or folder of the generation."""
        return self.home.generation(self.id) / name

    def open(self, name: str) -> Path:
        """Return a file or folder of the generation to read, fetched from a bucket; raises StoreError."""
        path, files = self.path(name), self.home.files
        return files.open_folder(path) if name == ADJACENCY else files.open([path])[0]

    def has(self, name: str) -> bool:
        """Say whether the step that yields this merged table, file or folder is finished."""
        return self.path(f"{name}.parquet" if name in _MERGED else name).exists()

    def record(self) -> GenerationRecord:
        """Return what the merge read and made; raises StoreError when the record is missing or damaged."""
        return self.read_record(RECORD, GenerationRecord)

    def inputs(self) -> GenerationInputs:
        """Return what the merge read; raises as `record`."""
        return self.record().inputs

    def merges_passes(self) -> bool:
        """Say whether it has the tables of passes; raises as `record`."""
        return MERGED_PASS_TABLES.keys() <= self.record().tables.keys()

    def table_files(self, table: str) -> list[Path]:
        """Return the Parquet files of a table, fetched from a bucket.

        A merged table has one, a per-source table one a shard, in order of source and pass. Without a pass there are
        none of its tables.
        """
        if table in _MERGED:
            paths = [self.path(f"{table}.parquet")] if table in MERGED_TABLES or self.merges_passes() else []
        else:
            tables, sources = SourceTables(self.home), sorted(self.inputs().sources.items())
            paths = [path for source, used in sources for path in tables.paths_of_kind(table, source, used)]
        return self.home.files.open(paths)

    def read_table(self, table: str, columns: list[str] | None = None) -> pa.Table:
        """Read a table whole, per-source tables one source after the other; raises StoreError."""
        schema = TABLES[table]
        parts = [self.home.files.read(path, columns) for path in self.table_files(table)]
        return pa.concat_tables([schema.empty_table().select(columns or schema.names), *parts])

    def write_record(self, name: str, record: Record) -> None:
        """Store a JSON record; raises StoreError when the disk refuses."""
        write_record(self.path(name), record)

    def read_record(self, name: str, kind: type[R]) -> R:
        """Read a JSON record; raises StoreError when it is missing or damaged."""
        record = read_record(self.path(name), kind)
        if record is None:
            raise StoreError(f"{self.path(name)} is missing; run `lightrag-dagster run` to rebuild it")
        return record


def store(
    home: Home,
    inputs: GenerationInputs,
    tables: Mapping[str, Sequence[Path]],
    summaries: Mapping[str, int],
    failed_summaries: int,
    curation: CurationRecord | None = None,
) -> Generation:
    """Store merged tables as a generation; the same inputs and rows are the same one.

    A generation that exists already only gets back the files that it has lost, or whose rows are damaged.

    Args:
        home: The home to write to, while holding the builder's lock.
        inputs: The versions that were merged.
        tables: The Parquet files of each merged table, in order of their rows.
        summaries: Recipe → number of rows whose description is a summary made by it.
        failed_summaries: Number of rows without the summary that they should have.
        curation: The effect of decisions, if there are any.

    Raises:
        StoreError: a file is damaged or has not its table's schema, or the disk refuses.
    """
    with scratch_folder(home) as folder:
        with ThreadPoolExecutor(2) as executor:  # One table keeps but one processor busy.
            paths = [folder / f"{table}.parquet" for table in tables]
            versions = list(executor.map(atomic.join_parquet, paths, map(_MERGED.get, tables), tables.values()))
        record = GenerationRecord(
            inputs=inputs,
            tables=dict(zip(tables, versions, strict=True)),
            summaries=dict(summaries),
            failed_summaries=failed_summaries,
            curation=curation or CurationRecord(),
        )
        write_record(folder / RECORD, record)
        generation = Generation(home, "gen-" + identity.digest(inputs.hash, record.tables))
        _put_in_place(folder, home.generation(generation.id))
    return generation


@contextmanager
def scratch_folder(home: Home) -> Iterator[Path]:
    """Give a temporary folder beside the generations; raises StoreError when the disk refuses."""
    with atomic.disk_errors(home.generations):
        home.generations.mkdir(parents=True, exist_ok=True)
        folder = home.generations / f".new.{uuid4().hex}"
        folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(home: Home) -> None:
    """Remove what killed builders left unfinished; call it while holding the builder's lock.

    Raises:
        StoreError: the disk or the bucket refuses.
    """
    with atomic.disk_errors(home.generations, "what a killed run left there stays"):
        for leftover in [*home.generations.glob(".*"), *home.generations.glob("gen-*/.*")]:
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    home.files.remove_folder(home.scratch)


def _put_in_place(folder: Path, target: Path) -> None:
    with atomic.disk_errors(target):
        if not target.exists():
            folder.rename(target)
        else:
            for path in folder.iterdir():
                kept = target / path.name
                if not kept.exists() or (path.suffix == ".parquet" and not _has_rows_of(kept, path)):
                    path.replace(kept)
        atomic.sync(target.parent)


def _has_rows_of(kept: Path, made: Path) -> bool:
    """Return whether a file that is there has the rows of one that was made again: it may be damaged."""
    if filecmp.cmp(kept, made, shallow=False):
        return True
    schema = _MERGED[made.stem]
    try:
        return atomic.hash_rows(kept, schema) == atomic.hash_rows(made, schema)
    except StoreError:
        return False


def set_newest(home: Home, generation: Generation) -> None:
    """Make the steps after the merge work on a generation; raises StoreError when the disk refuses."""
    write_record(home.newest, Pointer(id=generation.id))


def newest_generation(home: Home) -> Generation:
    """Return the generation that was merged last.

    Raises:
        StoreError: there is none, or the pointer is damaged.
    """
    return fetched(home, _newest(home).id)


def newest_merged(home: Home) -> Generation:
    """Return the newest generation, of which only the merged tables are fetched; raises as `newest_generation`."""
    generation = Generation(home, _newest(home).id)
    home.files.open([generation.path(f"{table}.parquet") for table in (*MERGED_TABLES, *generation.record().tables)])
    return generation


def _newest(home: Home) -> Pointer:
    pointer = read_record(home.newest, Pointer)
    if pointer is None:
        raise StoreError(f"nothing was merged in {home.name} yet; materialise entities first")
    return pointer


def remove_graph(generation: Generation) -> None:
    """Remove the graph database of a generation, so that the next run builds it again; raises StoreError."""
    atomic.remove(generation.path(GRAPH_RECORD))
    generation.home.files.remove([generation.path(GRAPH)])


def fetched(home: Home, generation_id: str) -> Generation:
    """Return a generation, with its files fetched from a bucket; raises StoreError."""
    home.files.open_folder(home.generation(generation_id))
    return Generation(home, generation_id)
