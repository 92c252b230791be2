"""Ingesting a source: read its documents, cut them, ask the model about each chunk, parse, and accept.

Each function makes one table of one source, under the lock of that source, and reports what it did. Given tables opened
with `candidate`, it is a step of a backfill: only rows of today's recipe are kept, and what it writes takes the place
of the current tables when the whole source is accepted.
"""

import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.build.reuse import earlier_rows, earlier_versions, keep_chunks, keep_extractions, keep_mentions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ChatModel, Usage
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.engines.choice import map_rows, open_engine
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.documents.deletions import check_deletions
from lightrag_dagster.stages.documents.listing import list_files, listing_signature
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.stages.documents.table import read_documents
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.storage.acceptance import Acceptance, accept
from lightrag_dagster.storage.lock import ingesting
from lightrag_dagster.storage.tables import SourceTables, TableVersion

LOCK_SECONDS = 3600.0
"""How long a step waits for another ingestion of its source: longer than most, shorter than a night."""

# Fewer are done before a worker process has started.
_DOCUMENTS_A_WORKER, _CHUNKS_A_WORKER = 2_000, 5_000
_REASONS = 3
_log = logging.getLogger(__name__)


class ExtractionModel(ChatModel, Protocol):
    """A chat model that counts what it does, and says which batches at the provider it still waits for."""

    usage: Usage

    @property
    def awaited(self) -> AbstractSet[str]:
        """Names of the batches whose responses are still to come."""
        ...


OpenModel = Callable[[], AbstractAsyncContextManager[ExtractionModel]]


@dataclass(frozen=True)
class StageReport:
    """Result of one step: the rows, their version, and how many of them were kept from earlier versions."""

    rows: pa.Table
    version: TableVersion
    kept: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Waiting:
    """Nothing was made yet: the responses are in these batches at the provider."""

    batches: frozenset[str]


def read_source(source: Source, tables: SourceTables, recipes: Recipes) -> StageReport:
    """Read every document of a source into `raw_documents`.

    Raises:
        SourceError: the source cannot be listed, or lost too many documents at once; its tables stay as they are.
        StoreError: a table is damaged or the disk refuses.
    """
    settings = recipes.settings.documents
    with ingesting(tables.home, source.name, LOCK_SECONDS):
        files = list_files(source)
        known = earlier_versions(tables, "raw_documents", source.name)
        previous = tables.read("raw_documents", source.name, known[0]) if known else None
        rows = read_documents(source.name, files, previous, settings)
        check_deletions(source.name, previous, rows, settings)
        # With a document that could not be read just now, the next run reads all again.
        unread = pc.any(pc.equal(rows["status"], "stale")).as_py()
        version = tables.write(
            "raw_documents",
            source.name,
            rows,
            inputs={"files": "unread" if unread else listing_signature(files)},
            fingerprint=recipes.code["raw_documents"],
            reasons=_reasons(rows, rows),
        )
    return StageReport(rows, version)


def chunk_source(source: str, tables: SourceTables, recipes: Recipes) -> StageReport:
    """Cut the documents of a source into `chunks`; text that was cut before keeps its chunks.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    with ingesting(tables.home, source, LOCK_SECONDS):
        documents = tables.require("raw_documents", source)
        kept, left = keep_chunks(
            tables.read("raw_documents", source, documents.version),
            earlier_rows(tables, "chunks", source, recipes.chunks),
        )
        cut = partial(chunk_documents, settings=recipes.settings.chunking, recipe=recipes.chunks)
        with open_engine(recipes.settings.engine) as engine:
            rows = pa.concat_tables([kept, *map_rows(engine, cut, left, _DOCUMENTS_A_WORKER)])
        version = tables.write(
            "chunks",
            source,
            rows,
            inputs={"raw_documents": documents.version},
            fingerprint=recipes.code["chunks"],
        )
    return StageReport(rows, version, kept.num_rows)


def extract_source(source: str, tables: SourceTables, recipes: Recipes, open_model: OpenModel) -> StageReport | Waiting:
    """Ask the model about every chunk of a source that has no row yet, into `extractions`.

    Kept are rows of unchanged chunks, but those that failed for a passing reason. A model that puts its questions into
    batches leaves nothing but the report that the source waits for them.

    Raises:
        ProviderAccessError: no request can succeed until a person acts; what was answered is stored.
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    llm = recipes.settings.llm.of("extract")
    with ingesting(tables.home, source, LOCK_SECONDS):
        chunks = tables.require("chunks", source)
        positions = tables.read("chunks", source, chunks.version)
        earlier = earlier_rows(tables, "extractions", source, recipes.extractions)
        kept, left = keep_extractions(positions, earlier, retry_failed=llm.retry_failed)

        async def ask() -> tuple[pa.Table, ExtractionModel]:
            async with open_model() as model:
                return await extract(source, left, todays_extractor(model, recipes), known=kept.num_rows), model

        made, model = run_sync(ask())
        if model.awaited:
            _log.info("source %s waits for %d batches; its last accepted tables stay", source, len(model.awaited))
            return Waiting(frozenset(model.awaited))
        rows = pa.concat_tables([kept, made])
        version = tables.write(
            "extractions",
            source,
            rows,
            inputs={"chunks": chunks.version},
            fingerprint=recipes.code["extractions"],
            reasons=_reasons(rows, positions),
        )
    return StageReport(rows, version, kept.num_rows, model.usage)


def todays_extractor(model: ChatModel, recipes: Recipes) -> Extractor:
    """Return how a model is asked about chunks by today's settings and prompts."""
    llm = recipes.settings.llm.of("extract")
    return Extractor(
        model,
        recipes.prompts,
        recipes.settings.extraction,
        recipes.extractions,
        load_tokenizer(recipes.settings.chunking.encoding).count,
        llm.conversations,
        llm.longer_outputs,
    )


def parse_and_accept(source: str, tables: SourceTables, recipes: Recipes) -> tuple[list[StageReport], Acceptance]:
    """Parse the responses into `entity_mentions` and `relation_mentions`, and accept the source if it may be merged.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    code = recipes.code["entity_mentions"]
    with ingesting(tables.home, source, LOCK_SECONDS):
        extractions = tables.require("extractions", source)
        rows = tables.read("extractions", source, extractions.version)
        *kept, left = keep_mentions(tables, source, rows, code)
        reports = []
        with open_engine(recipes.settings.engine) as engine:
            parsed = zip(*map_rows(engine, parse_extractions, left, _CHUNKS_A_WORKER), strict=True)
        for name, same, new in zip(("entity_mentions", "relation_mentions"), kept, parsed, strict=True):
            mentions, inputs = pa.concat_tables([same, *new]), {"extractions": extractions.version}
            version = tables.write(name, source, mentions, inputs=inputs, fingerprint=code)
            reports.append(StageReport(mentions, version, same.num_rows))
        share = recipes.settings.documents.max_failed_share
        acceptance = accept(tables.home, source, share, candidate=tables.candidate)
    return reports, acceptance


def _reasons(rows: pa.Table, places: pa.Table) -> Sequence[str]:
    """Return the first few failures as `path: error`; a failed chunk has the path of its first place in `places`."""
    failed = rows.filter(pc.equal(rows["status"], "failed"))
    key = "path" if "path" in rows.schema.names else "chunk_id"
    ordered = failed.sort_by(key).slice(0, _REASONS).select([key, "error"]).to_pylist()
    found = []
    for one in ordered:
        at = pc.index(places[key], one[key]).as_py()
        found.append(f"{places['path'][at].as_py()}: {one['error']}")
    return found
