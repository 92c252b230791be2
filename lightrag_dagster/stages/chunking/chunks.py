"""The `chunks` table: documents cut into token windows, each with its exact place and heading."""

from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa

from lightrag_dagster.core import identity, progress
from lightrag_dagster.core.tokens import Span, load_tokenizer
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.stages.documents.formats import has_headings
from lightrag_dagster.stages.documents.markdown import heading_paths
from lightrag_dagster.stages.documents.table import text_hash, with_text

# Encoding releases the GIL. Two threads gain a third over one; more gain nothing (measured).
_THREADS = 2
_DOCUMENTS_AT_ONCE = 256
_COLUMNS = ["source", "doc_id", "path", "content", "content_hash", "media_type", "pages"]


def chunk_documents(documents: pa.Table, settings: ChunkingSettings, recipe: str = "") -> pa.Table:
    """Cut every processed, duplicate or stale document into rows of CHUNKS, in the order of the documents.

    Args:
        documents: rows of RAW_DOCUMENTS.
        settings: window size and overlap, and the encoding they are counted in.
        recipe: what the rows name as their recipe.

    Raises:
        TokenizerError: the encoding cannot be loaded.
    """
    tokenizer = load_tokenizer(settings.encoding)
    cut = partial(tokenizer.windows, size=settings.size, overlap=settings.overlap)
    selected = with_text(documents).select(_COLUMNS)
    tables = [CHUNKS.empty_table()]
    done = 0
    with ThreadPoolExecutor(_THREADS) as pool:
        for batch in selected.to_batches(max_chunksize=_DOCUMENTS_AT_ONCE):
            rows = batch.to_pylist()
            spans = pool.map(cut, batch["content"].to_pylist())
            chunks = [chunk for row, found in zip(rows, spans, strict=True) for chunk in _chunks(row, found, recipe)]
            tables.append(pa.Table.from_pylist(chunks, schema=CHUNKS))
            done += len(rows)
            progress.report("chunks", done, selected.num_rows)
    return pa.concat_tables(tables)


def _chunks(document: dict[str, Any], spans: list[Span], recipe: str) -> Iterator[dict[str, Any]]:
    content = document["content"]
    cut_from = text_hash(document)
    headings = heading_paths(content) if has_headings(document["media_type"]) else []
    offsets = [offset for offset, _ in headings]
    pages = document["pages"]
    for index, (start, end, tokens) in enumerate(spans):
        position = bisect_right(offsets, start)
        heading = headings[position - 1][1] or None if position else None
        yield {
            "source": document["source"],
            "chunk_id": identity.chunk_id(content[start:end], heading),
            "doc_id": document["doc_id"],
            "path": document["path"],
            "chunk_index": index,
            "content": content[start:end],
            "tokens": tokens,
            "char_start": start,
            "char_end": end,
            "heading": heading,
            "page": bisect_right(pages, start) if pages else None,
            "text_hash": cut_from,
            "recipe": recipe,
        }
