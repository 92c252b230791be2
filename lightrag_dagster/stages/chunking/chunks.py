"""The `chunks` table: documents cut by the method of their rule, each chunk with its exact place and heading."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice, tee
from typing import Any

import numpy as np
import pyarrow as pa

from lightrag_dagster.core import identity, progress
from lightrag_dagster.core.in_time import map_in_order
from lightrag_dagster.core.text.markdown import heading_paths
from lightrag_dagster.core.text.tokens import Tokenizer, load_tokenizer
from lightrag_dagster.readers import has_headings
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings.chunking import ChunkerSettings, ChunkingSettings
from lightrag_dagster.stages.chunking.chunker import Cut, Document, EmbedTexts, Tools
from lightrag_dagster.stages.documents.raw_documents import text_hash, with_text
from lightrag_dagster.stages.facts.columns import LINE, MOST_CHARACTERS

THREADS = 2
"""Documents that are cut at a time. Encoding releases the GIL: two gain a third over one, more gain nothing."""

_DOCUMENTS_AT_ONCE = 128
_READ = ["source", "path", "content", "media_type", "pages"]
_COLUMNS = [*_READ, "doc_id", "content_hash"]


def chunk_documents(
    documents: pa.Table,
    settings: ChunkingSettings,
    recipe: str = "",
    embed: EmbedTexts | None = None,
    threads: int = THREADS,
) -> pa.Table:
    """Cut every processed, duplicate or stale document into rows of CHUNKS, in the order of the documents.

    Args:
        documents: rows of RAW_DOCUMENTS.
        settings: the chunking settings, with rules for some paths, and the encoding in which tokens are counted.
        recipe: the recipe of the rows.
        embed: for the method `semantic`, which without it cuts as `recursive`.
        threads: the number of documents cut at a time; if other processes use the other processors, 1 takes a tenth
            less of this one.

    Raises:
        SettingsError: the function of the method `custom` cannot be imported.
        SourceError: it cannot cut a document.
        TokenizerError: the encoding cannot be loaded.
    """
    from lightrag_dagster.stages.chunking.methods import METHODS  # importing markdown-it is slow

    tools = Tools(load_tokenizer(settings.encoding), embed)
    by_rule = {rule: settings.under(rule) for rule in (None, *range(len(settings.rules)))}

    def cut(document: Document) -> list[Cut]:
        own: ChunkerSettings = by_rule[settings.rule_of(document.name)]
        return _with_whole_facts(METHODS[own.method](document, own, tools), document.text, tools.tokenizer)

    selected = with_text(documents).select(_COLUMNS)
    batches = selected.to_batches(max_chunksize=_DOCUMENTS_AT_ONCE)
    to_cut, to_show = tee(_document(row) for batch in batches for row in batch.select(_READ).to_pylist())
    cuts = map_in_order(cut, to_cut, threads, ahead=_DOCUMENTS_AT_ONCE)
    tables = [CHUNKS.empty_table()]
    done = 0
    for batch in batches:
        cut_here = list(islice(cuts, batch.num_rows))
        tables.append(_table(batch, list(islice(to_show, batch.num_rows)), cut_here, recipe))
        done += batch.num_rows
        progress.report("chunks", done, selected.num_rows)
    return pa.concat_tables(tables)


def _with_whole_facts(cuts: list[Cut], text: str, tokenizer: Tokenizer) -> list[Cut]:
    """Let each chunk that ends in a line of a fact, which is read only where it is whole, end with that line."""
    # Any text may have a line like that, of any length.
    lines = [found.span() for found in LINE.finditer(text) if len(found[0]) <= MOST_CHARACTERS]
    for at, cut in enumerate(cuts if lines else ()):
        first, last = lines[max(0, bisect_right(lines, (cut.end, 0)) - 1)]
        if cut.start <= first < cut.end < last:
            cuts[at] = cut._replace(end=last, tokens=tokenizer.count(text[cut.start : last]))
    return cuts


def _document(row: dict[str, Any]) -> Document:
    text, is_markdown = row["content"], has_headings(row["media_type"])
    return Document(
        name=f"{row['source']}/{row['path']}",
        text=text,
        headings=heading_paths(text) if is_markdown else (),
        pages=row["pages"] or (),
        is_markdown=is_markdown,
    )


def _table(
    batch: pa.RecordBatch, documents: Sequence[Document], cuts: Sequence[Sequence[Cut]], recipe: str
) -> pa.Table:
    """Return the rows of CHUNKS of some documents, made by column, which is four times as fast as by row."""
    counts = np.fromiter(map(len, cuts), np.int64, len(cuts))
    of, total = np.repeat(np.arange(len(cuts)), counts), int(counts.sum())
    placed = [(document, one) for document, found in zip(documents, cuts, strict=True) for one in found]
    contents = [document.text[one.start : one.end] for document, one in placed]
    headings = [value for document, found in zip(documents, cuts, strict=True) for value in _headings(document, found)]
    contexts = [one.context for _, one in placed]
    hashes = [text_hash(row) for row in batch.select(["content_hash", "media_type", "pages"]).to_pylist()]
    columns = {
        **{name: batch.column(name).take(of) for name in ("source", "doc_id", "path")},
        "text_hash": pa.array(hashes, pa.string()).take(of),
        "recipe": pa.repeat(recipe, total),
        "chunk_id": list(map(identity.chunk_id, contents, headings, contexts)),
        "chunk_index": np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts),
        "content": contents,
        "tokens": [one.tokens for _, one in placed],
        "char_start": [one.start for _, one in placed],
        "char_end": [one.end for _, one in placed],
        "heading": headings,
        "context": contexts,
        "page": [_page(document, one.start) for document, one in placed],
        "page_end": [_page(document, one.end - 1) for document, one in placed],
    }
    return pa.table({name: columns[name] for name in CHUNKS.names}, CHUNKS)


def _headings(document: Document, cuts: Sequence[Cut]) -> list[str | None]:
    """Return the path of headings at the start of each chunk, None without one."""
    if not document.headings:
        return [None] * len(cuts)
    offsets = [offset for offset, _ in document.headings]
    paths = [None, *(path or None for _, path in document.headings)]
    return [paths[bisect_right(offsets, one.start)] for one in cuts]


def _page(document: Document, at: int) -> int | None:
    """Return the number of the page of a character, None in a document without pages."""
    return bisect_right(document.pages, at) if document.pages else None
