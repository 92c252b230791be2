"""The table `chunks` of a source: its documents, cut; text that was cut before keeps its chunks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import Embedder
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.pipeline.cross_shard import RowsOf, open_sql, partition, sql
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import (
    IngestionStep,
    Reusable,
    ShardResult,
    StageReport,
    each_shard,
    ingestion,
    report,
)
from lightrag_dagster.schemas import CHUNKS, RAW_DOCUMENTS
from lightrag_dagster.settings import ChunkingSettings, EmbeddingSettings
from lightrag_dagster.stages.chunking.chunker import EmbedTexts
from lightrag_dagster.stages.chunking.chunks import THREADS, chunk_documents
from lightrag_dagster.stages.documents.raw_documents import text_hash, with_text
from lightrag_dagster.storage.duckdb import view_files
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion

if TYPE_CHECKING:
    import duckdb

OpenEmbedder = Callable[[], AbstractAsyncContextManager[Embedder]]

# In each new thread tiktoken takes four milliseconds for its first text.
_ONE_THREAD_BYTES = 1 << 16

_PLACE = ["source", "doc_id", "path"]


def chunk_source(
    source: str, tables: SourceTables, recipes: Recipes, open_embedder: OpenEmbedder | None = None
) -> StageReport:
    """Cut the documents of a source into `chunks`; text that was cut before keeps its chunks.

    `open_embedder` is for the method `semantic`; without it that method cuts as `recursive`, as in a plan.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    step = IngestionStep.of(source, tables, recipes)
    with ingestion(tables, source) as scratch:
        documents = tables.require("raw_documents", source)
        parts = [Shard(number, documents.shards) for number in range(documents.shards)]
        earlier = Reusable.of("chunks", source, tables, recipes.chunks)
        moved = _moved_chunks(step, documents, earlier, scratch)
        tasks = ((shard, [rows_of(shard) for rows_of in moved]) for shard in parts)
        with open_engine(recipes.settings.engine) as engine:
            threads = 1 if len(parts) > 1 and engine.workers > 1 else THREADS
            cut = partial(_chunk_shard, step, documents.version, earlier, open_embedder, threads)
            made = each_shard(engine, cut, tasks, ("chunks", parts, documents.rows))
        stored = [one.files[0] for one in made]
        version = tables.record(
            "chunks", source, stored, inputs={"raw_documents": documents.version}, recipe=recipes.of_tables["chunks"]
        )
    return report(version, stored, sum(one.kept[0] for one in made))


def _chunk_shard(
    step: IngestionStep,
    documents: str,
    earlier: Reusable,
    open_embedder: OpenEmbedder | None,
    threads: int,
    task: tuple[Shard, Sequence[pa.Table]],
) -> ShardResult:
    """Cut the documents of a shard, given the chunks of each earlier version that moved to it from other shards."""
    shard, moved = task
    rows = step.read_shard("raw_documents", documents, shard)
    recipes, chunking = step.recipes, step.settings.chunking
    kept, left = keep_chunks(rows, earlier.rows(step, "chunks", shard, moved), chunking)
    if recipes.compares_meaning and open_embedder and left.num_rows:
        with _embedding(open_embedder, recipes.settings.embedding) as embed:
            cut = chunk_documents(left, chunking, recipes.chunks, embed, threads)
    else:
        cut = chunk_documents(left, chunking, recipes.chunks, threads=threads if left.nbytes > _ONE_THREAD_BYTES else 1)
    stored = step.store("chunks", pa.concat_tables([kept, cut]))
    return ShardResult((stored,), (kept.num_rows,))


def keep_chunks(
    documents: pa.Table, earlier: Sequence[pa.Table], chunking: ChunkingSettings
) -> tuple[pa.Table, pa.Table]:
    """Keep the chunks of documents whose text was cut before.

    Args:
        documents: rows of RAW_DOCUMENTS now.
        earlier: rows of CHUNKS of the same source; the first table that has a text counts.
        chunking: the current rules.

    Returns:
        Rows of CHUNKS, each at the place of its document now, and the rows of RAW_DOCUMENTS that are still to be cut.
        A document keeps its own chunks. One that was renamed or copied takes over those of its text, unless another
        rule matches its new path.
    """
    left = with_text(documents)
    hashes = [text_hash(row) for row in left.select(["content_hash", "media_type", "pages"]).to_pylist()]
    left = _with_rules(left.append_column("text_hash", pa.array(hashes, pa.string())), chunking)
    kept = [CHUNKS.empty_table()]
    for chunks in earlier:
        chunks = _with_rules(chunks, chunking)
        own = left.select([*_PLACE, "text_hash"]).join(
            chunks.group_by(["doc_id", "text_hash"]).aggregate([]), ["doc_id", "text_hash"], join_type="inner"
        )
        own = own.append_column("doc_id_min", own["doc_id"]).drop_columns("text_hash")
        others = left.filter(pc.invert(pc.is_in(left["doc_id"], value_set=own["doc_id"].combine_chunks())))
        first = chunks.group_by(["text_hash", "rule"]).aggregate([("doc_id", "min")])
        taken = others.select([*_PLACE, "text_hash", "rule"]).join(first, ["text_hash", "rule"], join_type="inner")
        known = pa.concat_tables([own, taken.select(own.column_names)])
        again = (
            chunks.append_column("doc_id_min", chunks["doc_id"])
            .drop_columns(_PLACE)
            .join(known, "doc_id_min", join_type="inner")
        )
        kept.append(again.select(CHUNKS.names).cast(CHUNKS))
        left = left.filter(pc.invert(pc.is_in(left["doc_id"], value_set=known["doc_id"].combine_chunks())))
    return pa.concat_tables(kept), left.drop_columns(["text_hash", "rule"])


def _with_rules(rows: pa.Table, chunking: ChunkingSettings) -> pa.Table:
    """Add the column `rule`: the number of the rule that matches the path of each row, or -1."""
    places = pc.binary_join_element_wise(rows["source"], rows["path"], "/")
    known = pc.unique(places)
    found = map(chunking.rule_of, known.to_pylist())
    numbers = pa.array((-1 if number is None else number for number in found), pa.int64(), size=len(known))
    return rows.append_column("rule", numbers.take(pc.index_in(places, known)))


def _moved_chunks(step: IngestionStep, documents: TableVersion, earlier: Reusable, scratch: Path) -> list[RowsOf]:
    """Partition the chunks whose text is in a document of another shard now, of each earlier version."""
    if documents.shards == 1:
        return []
    now = step.open("raw_documents", documents.version)
    with open_sql(scratch, documents.shards) as connection:
        moved = []
        for number, version in enumerate(earlier.versions["chunks"]):
            before = step.open("chunks", version)
            folder = scratch / f"moved-{number}"
            moved.append(partition_moved(connection, (now, before), step.settings.chunking, folder))
    return moved


def partition_moved(
    connection: "duckdb.DuckDBPyConnection",
    files: tuple[Sequence[Path], Sequence[Path]],
    chunking: ChunkingSettings,
    folder: Path,
) -> RowsOf:
    """Partition chunks of an earlier version whose text documents of other shards have now, under the same rule.

    `files` are those of the documents now and of the earlier chunks.
    """
    view_files(connection, "now", files[0], RAW_DOCUMENTS)
    view_files(connection, "earlier", files[1], CHUNKS)
    _register_rules(connection, chunking)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW document AS {sql('document_texts')}")
    return partition(connection, sql("moved"), folder, CHUNKS)


def _register_rules(connection: "duckdb.DuckDBPyConnection", chunking: ChunkingSettings) -> None:
    """Register `rule`: doc_id and number of the rule of each document that has one, now or earlier."""
    places = "SELECT doc_id, source, path FROM now UNION SELECT doc_id, source, path FROM earlier"
    rows = _with_rules(connection.sql(f"{places}{'' if chunking.rules else ' LIMIT 0'}").to_arrow_table(), chunking)
    rows = rows.filter(pc.field("rule") >= 0).select(["doc_id", "rule"]).rename_columns(["doc_id", "number"])
    connection.register("rule", rows)


@contextmanager
def _embedding(open_embedder: OpenEmbedder, settings: EmbeddingSettings) -> Iterator[EmbedTexts]:
    """Open an embedder for functions that are not asynchronous, in any thread."""
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_embedder()) as embedder:
        vectors_of = Embedding(embedder, settings).vectors_of
        yield lambda texts: portal.call(vectors_of, texts, lambda _: None)
