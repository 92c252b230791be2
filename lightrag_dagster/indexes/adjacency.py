"""The graph as sorted, memory-mapped arrays, which retrieval reads.

`build_adjacency` writes a folder once; `Adjacency.open` maps it, and threads may share it.

entities.arrow, relations.arrow   the columns that retrieval reads, sorted by id
chunks.arrow                      one row a distinct chunk, sorted by id: chunk_id, content, tokens
citations.arrow                   positions of each chunk in documents, in canonical order within a chunk
<table>_ids.npy                   the ids of a table as fixed-width bytes, for binary search
endpoints.npy                     int32[relations, 2]: the entity rows a relation joins
priority.npy                      int32[relations]: 0 for those of highest (rank, weight), equal for equal ones
<lists>_offsets.npy, _values.npy  lists of rows: those of row r are values[offsets[r]:offsets[r + 1]]; those of chunks
                                  hold all that support an entity or relation, in turn over sources
citation_offsets.npy              the same for citations, whose values would be 0, 1, 2, …

The index of words is in the same folder; see `text_index`.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import IntegrityError, StoreError, lacks_files
from lightrag_dagster.indexes.arrays import (
    Lists,
    Rows,
    find_sorted,
    lists_of,
    map_array,
    map_lists,
    map_table,
    offsets_of,
    write_array,
    write_lists,
)
from lightrag_dagster.indexes.text_arrays import write_texts
from lightrag_dagster.indexes.text_index import TextIndex
from lightrag_dagster.schemas import CHUNKS, ENTITY_EVIDENCE, RAW_DOCUMENTS, RELATION_EVIDENCE
from lightrag_dagster.storage.duckdb import in_memory, spilling, view_files
from lightrag_dagster.storage.files import atomic

if TYPE_CHECKING:
    import duckdb

ENTITY_COLUMNS = ["entity_id", "name", "type", "description", "degree"]
RELATION_COLUMNS = ["relation_id", "src_id", "tgt_id", "src", "tgt", "keywords", "description", "weight", "rank"]
_ROWS_PER_BATCH = 50_000

# The lists of more mentions and chunks are made in a database that spills.
_ROWS_IN_MEMORY = 200_000


class EvidenceFiles(NamedTuple):
    """Parquet files: ENTITY_EVIDENCE, RELATION_EVIDENCE, and CHUNKS and RAW_DOCUMENTS of all sources."""

    entities: Sequence[Path]
    relations: Sequence[Path]
    chunks: Sequence[Path]
    documents: Sequence[Path]


@dataclass(frozen=True)
class MappedTable:
    """A memory-mapped table, sorted by its id column."""

    rows: pa.Table
    ids: npt.NDArray[np.bytes_]

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the row of each id, in the order given.

        Raises:
            StoreError: the table has no row with one of the ids.
        """
        rows, known = find_sorted(self.ids, np.array(ids, dtype=np.bytes_))
        if not known.all():
            missing = ids[int(np.argmin(known))]
            raise StoreError(
                f"{missing} has a vector but is not in the graph; run `lightrag-dagster run` to rebuild both"
            )
        return rows.astype(np.int32)

    def ids_at(self, rows: Rows) -> list[str]:
        """Return the ids of some rows, in the order given."""
        return self.ids[rows].astype(str).tolist()  # type: ignore[no-any-return]

    def values(self, column: str) -> npt.NDArray[Any]:
        """Return the numbers of a column, in order of rows."""
        numbers: npt.NDArray[Any] = self.rows.column(column).to_numpy()
        return numbers

    def take(self, rows: Rows) -> list[dict[str, Any]]:
        """Return whole rows, in the order given."""
        taken: list[dict[str, Any]] = self.table_of(rows).to_pylist()
        return taken

    def table_of(self, rows: Rows) -> pa.Table:
        """Return whole rows, in the order given, as a table."""
        order = np.argsort(rows, kind="stable")
        return rows_at(self.rows, rows[order]).take(pa.array(np.argsort(order)))


def rows_at(table: pa.Table, rows: Rows) -> pa.Table:
    """Return rows of a table by ascending positions.

    Each batch is read by itself: `Table.take` first copies all batches of a text column into one.
    """
    found, start = list[pa.RecordBatch](), 0
    for batch in table.to_batches():
        here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + len(batch))]
        if len(here):
            found.append(batch.take(pa.array(here - start)))
        start += len(batch)
    return pa.Table.from_batches(found, table.schema)


@dataclass(frozen=True)
class Adjacency:
    """The graph of one generation, with its chunks and their positions."""

    entities: MappedTable
    relations: MappedTable
    chunks: MappedTable
    citations: pa.Table
    endpoints: npt.NDArray[np.int32]
    priority: npt.NDArray[np.int32]
    entity_relations: Lists
    entity_chunks: Lists
    relation_chunks: Lists
    title_chunks: Lists
    citation_offsets: npt.NDArray[np.int64]
    texts: TextIndex

    @classmethod
    def open(cls, folder: Path) -> "Adjacency":
        """Map a folder that `build_adjacency` wrote.

        Raises:
            StoreError: a file is missing or damaged.
        """
        try:
            return cls(
                entities=map_keyed(folder, "entities"),
                relations=map_keyed(folder, "relations"),
                chunks=map_keyed(folder, "chunks"),
                citations=map_table(folder, "citations"),
                endpoints=map_array(folder, "endpoints"),
                priority=map_array(folder, "priority"),
                entity_relations=map_lists(folder, "entity_relations"),
                entity_chunks=map_lists(folder, "entity_chunks"),
                relation_chunks=map_lists(folder, "relation_chunks"),
                title_chunks=map_lists(folder, "title_chunks"),
                citation_offsets=map_array(folder, "citation_offsets"),
                texts=TextIndex.open(folder),
            )
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StoreError(
                f"graph arrays in {folder} cannot be read ({error}); run `lightrag-dagster run --verify`"
            ) from error

    @cached_property
    def visible(self) -> npt.NDArray[np.bool_]:
        """A mask of the chunks that may be found: under a filter, those in an allowed document."""
        return np.diff(self.citation_offsets) > 0

    @cached_property
    def chunk_relations(self) -> Lists:
        """The relations that each chunk supports. Made when first asked for."""
        chunks, relations = self.relation_chunks.values, self.relation_chunks.owners.astype(np.int32)
        by_chunk = np.argsort(chunks, kind="stable")
        return lists_of(chunks[by_chunk], relations[by_chunk], len(self.chunks.ids))

    def citations_of(self, chunk: int) -> list[dict[str, Any]]:
        """Return the positions of a chunk, with the columns of `Citation`."""
        first, end = self.citation_offsets[chunk : chunk + 2].tolist()
        return self.citations.slice(first, end - first).to_pylist()  # type: ignore[no-any-return]

    def place_of(self, chunk: int) -> str:
        """Return the first place of a chunk, as source/path; empty if a filter leaves it none."""
        places = self.citations_of(chunk)
        return f"{places[0]['source']}/{places[0]['path']}" if places else ""

    def name_of(self, entity: int) -> str:
        """Return the name of an entity, as spelt in the documents that a filter allows."""
        (row,) = self.entities.take(np.array([entity], dtype=np.int32))
        return str(row["name"])


def priority_of(rank: npt.NDArray[Any], weight: npt.NDArray[Any]) -> Rows:
    """Return the dense rank of every relation by (rank, weight), descending; equal ones share it."""
    best_first = np.lexsort((-weight, -rank))
    ranks, weights = rank[best_first], weight[best_first]
    changes = (ranks[1:] != ranks[:-1]) | (weights[1:] != weights[:-1])
    priority = np.empty(len(best_first), dtype=np.int32)
    priority[best_first] = np.concatenate([np.zeros(min(1, len(best_first)), dtype=np.int32), np.cumsum(changes)])
    return priority


def has_adjacency(folder: Path) -> bool:
    """Return True if a folder holds all arrays; a killed builder may leave a part of them in a bucket.

    Raises:
        StoreError: this process may open no more files.
    """
    try:
        Adjacency.open(folder)
    except StoreError as error:
        if lacks_files(error):
            raise
        return False
    return True


def build_adjacency(
    folder: Path,
    entities: pa.Table,
    relations: pa.Table,
    evidence: EvidenceFiles,
    *,
    keeps_first: bool = True,
    more: Callable[[Path], None] | None = None,
) -> None:
    """Write the arrays of one generation; `folder` then holds all of them, or does not exist.

    Args:
        folder: replaced when it exists.
        entities: ENTITY_COLUMNS, sorted by key.
        relations: RELATION_COLUMNS, sorted by key.
        evidence: all of their evidence.
        keeps_first: True if the first chunks of each source come first in the lists, False for the last.
        more: writes further arrays into the folder, after these.

    Raises:
        IntegrityError: a relation ends at an entity, or evidence names a chunk, that does not exist.
        StoreError: a file is missing or damaged, or the disk refuses.
    """
    import duckdb  # here, since questions only read

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
            arrays = Path(temporary) / "arrays"
            arrays.mkdir()
            entity_ids = write_keyed(arrays, "entities", entities.select(ENTITY_COLUMNS))
            relation_ids = write_keyed(arrays, "relations", relations.select(RELATION_COLUMNS))
            _write_relations(arrays, relations, entity_ids)
            _write_evidence(arrays, relations, evidence, {"entity": entity_ids, "relation": relation_ids}, keeps_first)
            write_texts(arrays)
            if more:
                more(arrays)
            for file in arrays.iterdir():
                atomic.sync(file)
            shutil.rmtree(folder, ignore_errors=True)
            arrays.rename(folder)
            atomic.sync(folder.parent)
    except (OSError, duckdb.Error) as error:
        reason = " ".join(str(error).split())
        raise StoreError(f"{folder} cannot be built: {reason}; run again") from error


def _write_evidence(
    arrays: Path, relations: pa.Table, evidence: EvidenceFiles, ids: dict[str, pa.Array], keeps_first: bool
) -> None:
    """Write chunks, citations, and the chunks of the entities and relations that have these ids."""
    from lightrag_dagster.indexes.chunk_lists import chunk_lists, place_chunks

    rows = sum(map(atomic.count_rows, chain(*evidence)))
    with in_memory() if rows <= _ROWS_IN_MEMORY else spilling(arrays.parent) as connection:
        view_files(connection, "chunks", evidence.chunks, CHUNKS)
        view_files(connection, "documents", evidence.documents, RAW_DOCUMENTS)
        connection.execute("CREATE TEMP VIEW place AS FROM chunks")
        view_files(connection, "entity_evidence", evidence.entities, ENTITY_EVIDENCE)
        view_files(connection, "relation_evidence", evidence.relations, RELATION_EVIDENCE)
        connection.register("relations", relations.select(["relation_id", "src_id", "tgt_id"]))
        place_chunks(connection, ids | {"chunk": _write_chunks(arrays, connection)}, keeps_first=keeps_first)
        for kind, support in (
            ("entity", "entity_chunks('entity_evidence', 'relation_evidence')"),
            ("relation", "relation_chunks('relation_evidence')"),
        ):
            lists = chunk_lists(connection, kind, support)
            write_lists(arrays, f"{kind}_chunks", np.diff(lists.offsets), lists.values)


def _write_chunks(arrays: Path, connection: "duckdb.DuckDBPyConnection") -> pa.Array:
    """Write chunks and citations, streaming; return the distinct chunk ids, sorted."""
    texts = connection.sql(read_sql(__package__, "chunk_texts"))
    _write_batches(arrays, "chunks", texts.to_arrow_reader(_ROWS_PER_BATCH))
    citations = connection.sql(read_sql(__package__, "chunk_citations")).to_arrow_table()
    chunk_ids = map_table(arrays, "chunks").column("chunk_id").combine_chunks()
    _write_ids(arrays, "chunks", chunk_ids)
    _write_batches(arrays, "citations", citations.drop_columns("chunk_id").to_reader())
    cited = _rows_in(chunk_ids, citations.column("chunk_id"), "citations")
    write_array(arrays, "citation_offsets", offsets_of(np.bincount(cited, minlength=len(chunk_ids))))
    return chunk_ids


def _write_relations(arrays: Path, relations: pa.Table, entity_ids: pa.Array) -> None:
    """Write the entities of each relation and the relations of each entity."""
    sides = [_rows_in(entity_ids, relations.column(side), "relations") for side in ("src_id", "tgt_id")]
    endpoints = np.stack(sides, axis=1).astype(np.int32)
    write_array(arrays, "endpoints", endpoints)
    write_array(arrays, "priority", priority_of(*(relations.column(name).to_numpy() for name in ("rank", "weight"))))
    by_entity = np.argsort(endpoints.ravel(), kind="stable")
    write_lists(arrays, "entity_relations", np.bincount(endpoints.ravel(), minlength=len(entity_ids)), by_entity // 2)


def write_keyed(arrays: Path, name: str, table: pa.Table) -> pa.Array:
    """Write a table, in one batch, and its ids, which its first column has; return the ids."""
    _write_batches(arrays, name, table.combine_chunks().to_reader())
    ids = table.column(0).combine_chunks()
    _write_ids(arrays, name, ids)
    return ids


def _write_ids(arrays: Path, name: str, ids: pa.Array) -> None:
    write_array(arrays, f"{name}_ids", np.array(ids.to_pylist(), dtype=np.bytes_))


def _write_batches(arrays: Path, name: str, batches: pa.RecordBatchReader) -> None:
    with pa.OSFile(str(arrays / f"{name}.arrow"), "wb") as sink, pa.ipc.new_file(sink, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _rows_in(ids: pa.Array, wanted: pa.Array | pa.ChunkedArray, what: str) -> npt.NDArray[Any]:
    """Return the position of each of `wanted` in `ids`."""
    rows = pc.index_in(wanted, value_set=ids)
    if rows.null_count:
        missing = wanted.filter(rows.is_null())[0]
        raise IntegrityError(f"{what}: {missing} does not exist; nothing was published")
    positions: npt.NDArray[Any] = np.asarray(rows)
    return positions


def map_keyed(folder: Path, name: str) -> MappedTable:
    """Map a table that `write_keyed` wrote; raises OSError, ValueError or ArrowException."""
    return MappedTable(map_table(folder, name), map_array(folder, f"{name}_ids"))
