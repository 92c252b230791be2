"""The table `chunks` of a source: its documents, cut; text that was cut before keeps its chunks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import Embedder
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import (
    IngestionStep,
    Reusable,
    ShardResult,
    StageReport,
    each_shard,
    ingestion,
    record,
)
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import EmbeddingSettings
from lightrag_dagster.stages.chunking.chunker import EmbedTexts
from lightrag_dagster.stages.chunking.chunks import THREADS, chunk_documents
from lightrag_dagster.stages.documents.raw_documents import text_hash, with_text
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables

OpenEmbedder = Callable[[], AbstractAsyncContextManager[Embedder]]

# In each new thread tiktoken takes four milliseconds for its first text.
_ONE_THREAD_BYTES = 1 << 16

_TEXT = ["doc_id", "text_hash"]


def chunk_source(
    source: str, tables: SourceTables, recipes: Recipes, open_embedder: OpenEmbedder | None = None
) -> StageReport:
    """Cut the documents of a source into `chunks`; text that was cut before keeps its chunks.

    `open_embedder` is for the method `semantic`; without it that method cuts as `recursive`, as in a plan.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    step = IngestionStep.of(source, tables, recipes)
    with ingestion(tables, source):
        documents = tables.require("raw_documents", source)
        parts = [Shard(number, documents.shards) for number in range(documents.shards)]
        earlier = Reusable.of("chunks", source, tables, recipes.chunks)
        with open_engine(recipes.settings.engine) as engine:
            threads = 1 if len(parts) > 1 and engine.workers > 1 else THREADS
            cut = partial(_chunk_shard, step, documents.version, earlier, open_embedder, threads)
            made = each_shard(engine, cut, parts, ("chunks", parts, documents.rows))
        inputs = {"raw_documents": documents.version}
        return record(step, "chunks", made, inputs=inputs, recipe=recipes.table_recipe("chunks", source))


def _chunk_shard(
    step: IngestionStep,
    documents: str,
    earlier: Reusable,
    open_embedder: OpenEmbedder | None,
    threads: int,
    shard: Shard,
) -> ShardResult:
    """Cut the documents of a shard."""
    rows = step.read_shard("raw_documents", documents, shard)
    recipes, chunking = step.recipes, step.settings.chunking
    kept, left = keep_chunks(rows, earlier.rows(step, "chunks", shard))
    if recipes.compares_meaning and open_embedder and left.num_rows:
        with _embedding(open_embedder, recipes.settings.embedding) as embed:
            cut = chunk_documents(left, chunking, recipes.chunks, embed, threads)
    else:
        cut = chunk_documents(left, chunking, recipes.chunks, threads=threads if left.nbytes > _ONE_THREAD_BYTES else 1)
    stored = step.store("chunks", pa.concat_tables([kept, cut]))
    return ShardResult((stored,), (kept.num_rows,))


def keep_chunks(documents: pa.Table, earlier: Sequence[pa.Table]) -> tuple[pa.Table, pa.Table]:
    """Keep the chunks of documents whose text was cut before, by any settings.

    Args:
        documents: rows of RAW_DOCUMENTS now.
        earlier: rows of CHUNKS of the same source; the first table that has a document with its text counts.

    Returns:
        Rows of CHUNKS, and the rows of RAW_DOCUMENTS that are still to be cut.
    """
    left = with_text(documents)
    hashes = [text_hash(row) for row in left.select(["content_hash", "media_type", "pages"]).to_pylist()]
    left = left.append_column("text_hash", pa.array(hashes, pa.string()))
    kept = [CHUNKS.empty_table()]
    for chunks in earlier:
        same = left.select(_TEXT).join(chunks.select(_TEXT), _TEXT, join_type="left semi")["doc_id"].combine_chunks()
        kept.append(chunks.filter(pc.is_in(chunks["doc_id"], value_set=same)))
        left = left.filter(pc.invert(pc.is_in(left["doc_id"], value_set=same)))
    return pa.concat_tables(kept), left.drop_columns("text_hash")


@contextmanager
def _embedding(open_embedder: OpenEmbedder, settings: EmbeddingSettings) -> Iterator[EmbedTexts]:
    """Open an embedder for functions that are not asynchronous, in any thread."""
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_embedder()) as embedder:
        vectors_of = Embedding(embedder, settings).vectors_of
        yield lambda texts: portal.call(vectors_of, texts, lambda _: None)
