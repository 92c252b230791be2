"""The steps of an ingestion for one shard of a source: from stored tables to a stored file, in any process."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ChatModel, Embedder, Usage
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.pipeline.captions import OpenDescriber, describing
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.reuse import (
    ANSWERED_COLUMNS,
    PARSED_COLUMNS,
    PARSED_TABLES,
    Parsed,
    ReadBefore,
    keep_chunks,
    keep_extractions,
    keep_mentions,
    of_new_answers,
)
from lightrag_dagster.schemas import RAW_DOCUMENTS, SOURCE_TABLES, STAMPS
from lightrag_dagster.settings import EmbeddingSettings
from lightrag_dagster.stages.chunking.chunker import EmbedTexts
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.documents.captions import Describing
from lightrag_dagster.stages.documents.duplicates import mark_duplicates
from lightrag_dagster.stages.documents.raw_documents import Slow
from lightrag_dagster.stages.documents.reading import Before, read_listed, waits_for_descriptions
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables, StoredShard, sum_columns

REASONS = 3
"""Failures that are told of a table."""


class ExtractionModel(ChatModel, Protocol):
    """A chat model that counts what it does, and says which batches at the provider it still waits for."""

    usage: Usage

    @property
    def awaited(self) -> AbstractSet[str]:
        """Names of the batches whose responses are still to come."""
        ...


OpenEmbedder = Callable[[], AbstractAsyncContextManager[Embedder]]
OpenModel = Callable[[], AbstractAsyncContextManager[ExtractionModel]]


class Step(NamedTuple):
    """What the shards of a step have in common: a source, its tables, today's recipes."""

    source: str
    tables: SourceTables
    recipes: Recipes


class Earlier(NamedTuple):
    """Versions of a table whose rows may be kept, the first counts; with `recipe`, only rows of that recipe."""

    table: str
    versions: tuple[str, ...]
    recipe: str | None

    def rows(self, step: Step, shard: Shard, dealt: Sequence[pa.Table] = ()) -> list[pa.Table]:
        """Return the rows of a shard in each version, with those that were `dealt` to it from others."""
        found = []
        for position, version in enumerate(self.versions):
            rows = step.tables.read_shard(self.table, step.source, version, shard)
            rows = pa.concat_tables([rows, *dealt[position : position + 1]])
            found.append(rows.filter(pc.equal(rows["recipe"], self.recipe)) if self.recipe else rows)
        return found


@dataclass(frozen=True)
class Made:
    """What a step made of a shard: a file of each table, the rows kept of each, and the first failures: key, reason.

    `usage` is what a model did for it; an `unfinished` one is to be made again by the next run. `slowest` are the
    documents that took longest to read, `new_sums` those of `TableVersion`.
    """

    files: tuple[StoredShard, ...]
    kept: tuple[int, ...] = (0,)
    reasons: list[tuple[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    unfinished: bool = False
    slowest: list[Slow] = field(default_factory=list)
    new_sums: dict[str, int] = field(default_factory=dict)


def read_shard(
    step: Step,
    source: Source,
    known: ReadBefore,
    describer: tuple[OpenDescriber | None, int],
    task: tuple[Shard, pa.Table],
) -> Made:
    """Read the listed documents of a shard that changed since the versions in `known` were read.

    `describer` opens the model that describes images, if one does, and says how many it may be asked about at once.
    """
    shard, listed = task
    tables, name = step.tables, step.source
    documents, stamps = (
        tables.read_shard(table, name, version, shard) if version else empty
        for table, version, empty in (
            ("raw_documents", known.documents, RAW_DOCUMENTS.empty_table()),
            ("stamps", known.stamps, STAMPS.empty_table()),
        )
    )
    before, usage = Before(documents, stamps), Usage()
    with describing(describer[0], step.recipes, describer[1]) as describe:
        told = Describing(describe, step.recipes.descriptions, keep=not tables.candidate) if describe else None
        read = read_listed(source, listed, before, step.recipes.settings.documents, told)
        usage = describe.usage if describe else usage
    rows = read.documents
    stored = tables.store("raw_documents", name, rows), tables.store("stamps", name, read.stamps)
    unfinished = pc.any(pc.or_(pc.equal(rows["status"], "stale"), waits_for_descriptions(rows))).as_py()
    return Made(stored, (read.unopened, 0), _reasons(rows, "path"), usage, bool(unfinished), read.slowest)


def mark_shard(step: Step, task: tuple[StoredShard, pa.Table]) -> StoredShard:
    """Name the originals of documents in a stored file that have one in another shard."""
    stored, originals = task
    documents = step.tables.read_file("raw_documents", step.source, stored.name)
    return step.tables.store("raw_documents", step.source, mark_duplicates(documents, originals))


def chunk_shard(
    step: Step,
    documents: str,
    earlier: Earlier,
    open_embedder: OpenEmbedder | None,
    threads: int,
    task: tuple[Shard, Sequence[pa.Table]],
) -> Made:
    """Cut the documents of a shard, given chunks that were dealt to it from other shards of each earlier version."""
    shard, dealt = task
    rows = step.tables.read_shard("raw_documents", step.source, documents, shard)
    recipes, chunking = step.recipes, step.recipes.settings.chunking
    kept, left = keep_chunks(rows, earlier.rows(step, shard, dealt), chunking)
    if recipes.compares_meaning and open_embedder and left.num_rows:
        with embedding(open_embedder, recipes.settings.embedding) as embed:
            cut = chunk_documents(left, chunking, recipes.chunks, embed, threads)
    else:
        cut = chunk_documents(left, chunking, recipes.chunks, threads=threads)
    stored = step.tables.store("chunks", step.source, pa.concat_tables([kept, cut]))
    return Made((stored,), (kept.num_rows,))


async def extract_shard(
    step: Step, earlier: Earlier, model: ExtractionModel, conversations: int, task: tuple[Shard, pa.Table]
) -> Made | None:
    """Ask a model about the chunks of a shard, given their places; None while batches are awaited."""
    shard, places = task
    retry = step.recipes.settings.llm.of("extract").retry_failed
    kept, left = keep_extractions(places, earlier.rows(step, shard), retry_failed=retry)
    extractor = todays_extractor(model, step.recipes, conversations)
    made = await extract(step.source, left, extractor, known=kept.num_rows)
    if model.awaited:
        return None
    rows = pa.concat_tables([kept, made])
    stored = step.tables.store("extractions", step.source, rows)
    return Made((stored,), (kept.num_rows,), _reasons(rows, "chunk_id", places))


def extract_in_worker(
    step: Step, earlier: Earlier, open_model: OpenModel, conversations: int, task: tuple[Shard, pa.Table]
) -> tuple[Made, Usage]:
    """Open the model, and ask it about the chunks of a shard; return also what it did."""

    async def ask() -> tuple[Made, Usage]:
        async with open_model() as model:
            made = await extract_shard(step, earlier, model, conversations, task)
        assert made is not None  # only batches are awaited, which no worker asks for
        return made, model.usage

    return run_sync(ask())


def parse_shard(step: Step, extractions: str, parsed: Parsed | None, answered: str | None, shard: Shard) -> Made:
    """Parse the responses of a shard, but those that were `parsed` before; `answered` is the accepted version."""
    tables, source = step.tables, step.source
    rows = tables.read_shard("extractions", source, extractions, shard)
    kept = [SOURCE_TABLES[name].empty_table() for name in PARSED_TABLES]
    left = rows
    if parsed:
        earlier = tables.read_shard("extractions", source, parsed.extractions, shard, PARSED_COLUMNS)
        before = [tables.read_shard(name, source, one, shard) for name, one in parsed.tables.items()]
        *kept, left = keep_mentions(rows, earlier, before)
    made = [pa.concat_tables(both) for both in zip(kept, parse_extractions(left), strict=True)]
    stored = tuple(tables.store(name, source, one) for name, one in zip(PARSED_TABLES, made, strict=True))
    counted = made[-1]
    if answered:
        earlier = tables.read_shard("extractions", source, answered, shard, ANSWERED_COLUMNS)
        counted = of_new_answers(counted, rows, earlier)
    return Made(stored, tuple(same.num_rows for same in kept), new_sums=sum_columns(counted))


@contextmanager
def embedding(open_embedder: OpenEmbedder, settings: EmbeddingSettings) -> Iterator[EmbedTexts]:
    """Open an embedder for functions that are not asynchronous, in any thread."""
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_embedder()) as embedder:
        vectors_of = Embedding(embedder, settings).vectors_of
        yield lambda texts: portal.call(vectors_of, texts, lambda _: None)


def todays_extractor(model: ChatModel, recipes: Recipes, conversations: int) -> Extractor:
    """Return how a model is asked about chunks by today's settings and prompts, so many at once."""
    extraction = recipes.settings.extraction
    if recipes.name_finder:
        extraction = extraction.model_copy(update={"answer_format": "rows", "gleaning": 0})
    return Extractor(
        model,
        recipes.prompts,
        extraction,
        recipes.extractions,
        load_tokenizer(recipes.settings.chunking.encoding).count,
        conversations,
        recipes.settings.llm.of("extract").longer_outputs,
        by_rules=recipes.name_finder is not None or recipes.settings.llm.provider == "offline",
    )


def _reasons(rows: pa.Table, key: str, places: pa.Table | None = None) -> list[tuple[str, str]]:
    """Return the first failures by key, as path and error; a failed chunk has the first path in `places`."""
    failed = rows.filter(pc.equal(rows["status"], "failed")).select([key, "error"]).to_pylist()
    first = heapq.nsmallest(REASONS, ((one[key], one["error"]) for one in failed))
    if places is None:
        return first
    return [(pc.min(places.filter(pc.field(key) == one)["path"]).as_py(), error) for one, error in first]
