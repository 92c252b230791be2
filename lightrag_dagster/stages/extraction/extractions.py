"""The extraction driver: asks a language model about every distinct chunk of a source."""

import asyncio

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.core.identity import digest, extraction_key
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.settings import ExtractionSettings
from lightrag_dagster.stages.extraction.conversation import Conversation, Extractor
from lightrag_dagster.stages.prompts import Prompts

USELESS_AFTER = 20
"""The chunks about which answers were bought, none of use, before any other, until a new recipe asks no more."""

__all__ = ["Extractor", "extract", "extraction_recipe"]


def extraction_recipe(prompts: Prompts, settings: ExtractionSettings, model_identity: str) -> str:
    """Return a hash of what shapes an extraction by a language model, beside chunk and revision."""
    rules = settings.model_dump(include={"answer_format", "gleaning"})
    rules |= {"language": prompts.language}
    rules |= {"document_language": True} if settings.document_language else {}
    rules |= {"small": prompts.digest("small")} if settings.profile == "small" else {}
    return digest(prompts.digest("extraction"), rules, model_identity)


async def extract(source: str, chunks: pa.Table, extractor: Extractor, *, known: int = 0) -> pa.Table:
    """Return EXTRACTIONS: one row for each distinct chunk of CHUNKS, sorted by `chunk_id`.

    The chunks are asked about in canonical order (path, chunk index), each going through its rounds by itself. A chunk
    that the model cannot answer becomes a row with status `failed`; the response store holds no failures. A round that
    fails after the first leaves the rounds before it as they are, and says so in `error`.

    Args:
        source: The source of the chunks.
        chunks: Rows of CHUNKS; a chunk may have several positions. A further column `language` has the code of the
            language in which the answer is to be written, empty if that is unknown; null is that of the prompts.
        extractor: The model, with its prompts and limits.
        known: Further chunks of the source that need no question; they only count in the progress.

    Raises:
        ProviderAccessError: no request can succeed, or none of the first answers can be used; all are stored.
        StoreError: the response store refuses.
    """
    rows_by_chunk = _distinct(chunks)
    contents, headings, contexts = chunks["content"], chunks["heading"], chunks["context"]
    languages = chunks["language"] if "language" in chunks.column_names else None
    rows, total = list[dict[str, object]](), known + len(rows_by_chunk)
    queue, useless = iter(rows_by_chunk.items()), 0
    stopped: ProviderAccessError | None = None

    async def work() -> None:
        nonlocal useless, stopped
        for chunk_id, row in queue:
            if stopped:  # answers that are under way are paid for, and stored
                return
            language = languages[row].as_py() if languages else None
            conversation = Conversation(extractor, language, contents[row].as_py())
            failure = await conversation.run(headings[row].as_py(), contexts[row].as_py())
            rows.append(_labels(source, chunk_id, extractor, language) | conversation.outcome(failure))
            useless += bool(conversation.bought) and not conversation.answered  # what a provider refuses says nothing
            if len(rows) == useless == USELESS_AFTER and extractor.is_new():
                stopped = _useless(source, extractor, failure)
            progress.report("extractions", known + len(rows), total)
            # Stored responses never suspend: let other tasks and a cancellation through.
            await asyncio.sleep(0)

    progress.report("extractions", known, total)
    await gather_or_cancel(work() for _ in range(min(extractor.max_concurrency, len(rows_by_chunk))))
    if stopped:
        raise stopped
    return pa.Table.from_pylist(rows, schema=EXTRACTIONS).sort_by("chunk_id")


def _labels(source: str, chunk_id: str, extractor: Extractor, language: str | None) -> dict[str, object]:
    """Return the columns of EXTRACTIONS about the question."""
    key, model = extraction_key(chunk_id, extractor.recipe, language), extractor.model.identity
    named = {"source": source, "chunk_id": chunk_id, "extraction_key": key, "model": model}
    return {**named, "recipe": extractor.recipe}


def _useless(source: str, extractor: Extractor, last: Exception | None) -> ProviderAccessError:
    return ProviderAccessError(
        f"none of the first {USELESS_AFTER} chunks of source {source!r} has a usable answer of "
        f"{extractor.model.identity}, so that it is asked no more: {last}. `lightrag-dagster try` shows what others "
        "answer about documents that are published, `run --retry-failed` asks this model again, and "
        "documents.max_failed_share: 1 asks about all"
    )


def _distinct(chunks: pa.Table) -> dict[str, int]:
    """Return each distinct chunk and the row of its first position, in canonical order."""
    order = pc.sort_indices(chunks, sort_keys=[("path", "ascending"), ("chunk_index", "ascending")])
    rows: dict[str, int] = {}
    for chunk_id, row in zip(chunks["chunk_id"].take(order).to_pylist(), order.to_pylist(), strict=True):
        rows.setdefault(chunk_id, row)
    return rows
