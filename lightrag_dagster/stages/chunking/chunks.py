"""The `chunks` table: documents cut by the method of their rule, each chunk with its exact place and heading."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from lightrag_dagster.core import identity, progress
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import ChunkerSettings, ChunkingSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, EmbedTexts, Tools
from lightrag_dagster.stages.documents.formats import has_headings
from lightrag_dagster.stages.documents.markdown import heading_paths
from lightrag_dagster.stages.documents.table import text_hash, with_text

# Encoding releases the GIL. Two threads gain a third over one; more gain nothing (measured).
_THREADS = 2
_DOCUMENTS_AT_ONCE = 128
_COLUMNS = ["source", "doc_id", "path", "content", "content_hash", "media_type", "pages"]


def chunk_documents(
    documents: pa.Table, settings: ChunkingSettings, recipe: str = "", embed: EmbedTexts | None = None
) -> pa.Table:
    """Cut every processed, duplicate or stale document into rows of CHUNKS, in the order of the documents.

    Args:
        documents: rows of RAW_DOCUMENTS.
        settings: how to cut, with rules for some paths, and the encoding in which tokens are counted.
        recipe: what the rows name as their recipe.
        embed: for the method `semantic`, which without it cuts as `recursive`.

    Raises:
        SettingsError: the function of the method `custom` cannot be imported.
        SourceError: it cannot cut a document.
        TokenizerError: the encoding cannot be loaded.
    """
    from lightrag_dagster.stages.chunking.methods import METHODS  # markdown-it takes a while to import

    tools = Tools(load_tokenizer(settings.encoding), embed)
    by_rule = {rule: settings.under(rule) for rule in (None, *range(len(settings.rules)))}

    def cut(document: Document) -> list[Cut]:
        own: ChunkerSettings = by_rule[settings.rule_of(document.name)]
        return METHODS[own.method](document, own, tools)

    selected = with_text(documents).select(_COLUMNS)
    tables = [CHUNKS.empty_table()]
    done = 0
    for batch in _cut_batches(selected.to_batches(max_chunksize=_DOCUMENTS_AT_ONCE), cut):
        columns: dict[str, list[Any]] = {name: [] for name in CHUNKS.names}
        for row, document, cuts in batch:
            for name, values in _columns(row, document, cuts).items():
                columns[name] += values
            done += 1
        columns["recipe"] = [recipe] * len(columns["chunk_id"])
        tables.append(pa.table(columns, CHUNKS))
        progress.report("chunks", done, selected.num_rows)
    return pa.concat_tables(tables)


def _cut_batches(
    batches: Iterable[pa.RecordBatch], cut: Callable[[Document], list[Cut]]
) -> Iterator[Iterator[tuple[dict[str, Any], Document, list[Cut]]]]:
    """Yield the documents of each batch with their cuts, while threads cut those of the next."""
    ahead: deque[Iterator[tuple[dict[str, Any], Document, list[Cut]]]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        for batch in batches:
            rows = batch.to_pylist()
            documents = [_document(row) for row in rows]
            ahead.append(zip(rows, documents, pool.map(cut, documents), strict=True))
            if len(ahead) > 1:
                yield ahead.popleft()
        yield from ahead


def _document(row: dict[str, Any]) -> Document:
    text, is_markdown = row["content"], has_headings(row["media_type"])
    return Document(
        name=f"{row['source']}/{row['path']}",
        text=text,
        headings=heading_paths(text) if is_markdown else (),
        pages=row["pages"] or (),
        is_markdown=is_markdown,
    )


def _columns(row: dict[str, Any], document: Document, cuts: Sequence[Cut]) -> dict[str, list[Any]]:
    """Return the columns of CHUNKS but the recipe: from rows, a table would take four times as long to make."""
    text, pages, offsets = document.text, document.pages, [offset for offset, _ in document.headings]
    paths = [None, *(path or None for _, path in document.headings)]
    contents = [text[one.start : one.end] for one in cuts]
    headings = [paths[bisect_right(offsets, one.start)] for one in cuts]
    named = zip(contents, headings, cuts, strict=True)
    whole = {name: row[name] for name in ("source", "doc_id", "path")} | {"text_hash": text_hash(row)}
    return {name: [value] * len(cuts) for name, value in whole.items()} | {
        "chunk_id": [identity.chunk_id(content, heading, one.context) for content, heading, one in named],
        "chunk_index": list(range(len(cuts))),
        "content": contents,
        "tokens": [one.tokens for one in cuts],
        "char_start": [one.start for one in cuts],
        "char_end": [one.end for one in cuts],
        "heading": headings,
        "context": [one.context for one in cuts],
        "page": [bisect_right(pages, one.start) if pages else None for one in cuts],
    }
