"""Ingesting a source: read its documents, cut them, ask the model about each chunk, parse, and accept.

Each function makes one table of one source, a shard at a time, under the lock of that source, and reports what it did.
Given tables opened with `candidate`, it is a step of a backfill: only rows of the current recipe are kept, and what it
writes takes the place of the current tables when the whole source is accepted.
"""

import heapq
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.errors import SourceError
from lightrag_dagster.pipeline import dealing
from lightrag_dagster.pipeline.captions import OpenDescriber
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.reuse import (
    PARSED_TABLES,
    answered_before,
    earlier_versions,
    judged_by,
    parsed_before,
    read_before,
)
from lightrag_dagster.pipeline.shard_steps import (
    REASONS,
    Earlier,
    Made,
    OpenEmbedder,
    OpenModel,
    Step,
    chunk_shard,
    extract_in_worker,
    extract_shard,
    parse_shard,
    read_shard,
)
from lightrag_dagster.pipeline.sharding import (
    LOCK_SECONDS,
    each_shard,
    ingestion,
    mark_duplicates,
    moved_chunks,
    places_of,
)
from lightrag_dagster.stages.chunking.chunks import THREADS
from lightrag_dagster.stages.documents.listing import Listing
from lightrag_dagster.stages.documents.raw_documents import MAX_REPORTED
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.files import atomic, bucket
from lightrag_dagster.storage.locks.locks import ingesting
from lightrag_dagster.storage.tables.acceptance import Acceptance, Bounds, accept
from lightrag_dagster.storage.tables.shards import Shard, shards
from lightrag_dagster.storage.tables.source_tables import SourceTables, TableVersion

FIRST_ROWS = 5
"""Rows of a table that a report shows."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StageReport:
    """Result of one step: the version, its first rows, how many of its rows were kept, and what the model did.

    `reading` is about the documents that were read.
    `answers_cost_usd` is what the stored responses of all its rows cost when they were bought. US dollars.
    """

    version: TableVersion
    first: pa.Table
    kept: int = 0
    usage: Usage = field(default_factory=Usage)
    answers_cost_usd: float = 0.0
    reading: dealing.Reading | None = None


@dataclass(frozen=True)
class Waiting:
    """Nothing was made yet: the responses are in these batches at the provider."""

    batches: frozenset[str]


def read_source(
    source: Source, tables: SourceTables, recipes: Recipes, open_describer: OpenDescriber | None = None
) -> StageReport:
    """Read the documents of a source that changed into `raw_documents`, in a backfill all of them.

    `open_describer` opens the model that describes their images, without which these are left out.

    Raises:
        SourceError: the source cannot be listed, or lost too many documents at once; its tables stay as they are.
        StoreError: a table is damaged or the disk refuses.
    """
    step, name = _step(source.name, tables, recipes), source.name
    with ingestion(tables, name) as scratch, open_engine(recipes.settings.engine) as engine:
        listing = Listing(source, scratch / "files.parquet")
        parts = shards(listing.count, listing.size)
        code = recipes.code["raw_documents"]
        known, judge = read_before(tables, name, code), judged_by(tables, name)
        with dealing.open_sql(scratch, len(parts)) as connection:
            listed_in = dealing.deal_listing(connection, listing, scratch / "files").of
            tasks = ((shard, listed_in(shard)) for shard in parts)
            at_once = max(1, recipes.settings.llm.of("describe").max_concurrency // max(1, engine.workers))
            read = partial(read_shard, step, source, known, (open_describer, at_once))
            made = each_shard(engine, read, tasks, ("documents", parts, listing.count))
            stored, stamps = [one.files[0] for one in made], [one.files[1] for one in made]
            before = tables.paths("raw_documents", name, judge.version) if judge.version else []
            now = tables.stored_paths("raw_documents", name, stored)
            read_now = tables.stored_paths("stamps", name, stamps)
            bucket.fetch(tables.home, [*before, *now, *read_now])
            try:
                about = dealing.judge_reading(name, connection, (before, now, read_now), recipes.settings.documents)
            except SourceError as error:
                tables.refuse(name, listing.signature, str(error))
                raise
            about = about._replace(slowest=heapq.nlargest(MAX_REPORTED, (slow for one in made for slow in one.slowest)))
            if len(parts) > 1:
                stored = mark_duplicates(step, stored, dealing.equal_documents(connection, now), engine)
        # With a document that could not be read just now, the next run reads again.
        unread = any(one.unfinished for one in made)
        version = tables.record(
            "raw_documents",
            name,
            stored,
            inputs={"files": "unread" if unread else listing.signature},
            fingerprint=code,
            reasons=_first_reasons(made),
            losses_accepted=judge.accepted or recipes.settings.documents.accept_deletes,
        )
        inputs = {"raw_documents": version.version}
        SourceTables(tables.home).record("stamps", name, stamps, inputs=inputs, fingerprint=code)
    usage = sum((one.usage for one in made), Usage())
    return replace(_report(tables, version, sum(one.kept[0] for one in made), usage), reading=about)


def chunk_source(
    source: str, tables: SourceTables, recipes: Recipes, open_embedder: OpenEmbedder | None = None
) -> StageReport:
    """Cut the documents of a source into `chunks`; text that was cut before keeps its chunks.

    `open_embedder` is for the method `semantic`, which without it cuts as `recursive`, as where a run is only planned.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    step = _step(source, tables, recipes)
    with ingestion(tables, source) as scratch:
        documents = tables.require("raw_documents", source)
        parts = [Shard(number, documents.shards) for number in range(documents.shards)]
        earlier = _earlier(tables, "chunks", source, recipes.chunks)
        moved = moved_chunks(step, documents, earlier, scratch)
        tasks = ((shard, [dealt.of(shard) for dealt in moved]) for shard in parts)
        with open_engine(recipes.settings.engine) as engine:
            threads = 1 if len(parts) > 1 and engine.workers > 1 else THREADS
            cut = partial(chunk_shard, step, documents.version, earlier, open_embedder, threads)
            made = each_shard(engine, cut, tasks, ("chunks", parts, documents.rows))
        version = tables.record(
            "chunks",
            source,
            [one.files[0] for one in made],
            inputs={"raw_documents": documents.version},
            fingerprint=recipes.code["chunks"],
        )
    return _report(tables, version, sum(one.kept[0] for one in made))


def extract_source(source: str, tables: SourceTables, recipes: Recipes, open_model: OpenModel) -> StageReport | Waiting:
    """Ask the model about every chunk of a source that has no row yet, into `extractions`.

    By the method `mentions` no model is opened, and names are found instead.
    Kept are rows of unchanged chunks, but those that failed for a passing reason. A model that puts its questions into
    batches leaves nothing but the report that the source waits for them. With an engine that has workers, `open_model`
    can be pickled, and each worker opens it.

    Raises:
        ProviderAccessError: no request can succeed until a person acts; what was answered is stored.
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    recipes = recipes.of_source(source)
    step = _step(source, tables, recipes)
    if recipes.name_finder:
        open_model = recipes.name_finder.open
    with ingestion(tables, source) as scratch:
        chunks = tables.require("chunks", source)
        parts = shards(chunks.rows)
        earlier = _earlier(tables, "extractions", source, recipes.extractions)
        documents = tables.require("raw_documents", source) if recipes.follows_languages else None
        places = places_of(step, (chunks, documents), earlier, parts, scratch)
        answered = _ask(step, earlier, open_model, parts, places)
        if isinstance(answered, Waiting):
            _log.info("source %s waits for %d batches; its last accepted tables stay", source, len(answered.batches))
            return answered
        made, usage = answered
        version = tables.record(
            "extractions",
            source,
            [one.files[0] for one in made],
            inputs={one.table: one.version for one in (chunks, documents) if one},
            fingerprint=recipes.code["extractions"],
            reasons=_first_reasons(made),
        )
    return _report(tables, version, sum(one.kept[0] for one in made), usage)


def parse_and_accept(source: str, tables: SourceTables, recipes: Recipes) -> tuple[list[StageReport], Acceptance]:
    """Parse the responses into the PARSED_TABLES of a source, and accept it if it may be merged.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    code = recipes.code["parsed"]
    with ingesting(tables.home, source, LOCK_SECONDS):
        extractions = tables.require("extractions", source)
        parts = [Shard(number, extractions.shards) for number in range(extractions.shards)]
        before = parsed_before(tables, source, code), answered_before(tables, source)
        parse = partial(parse_shard, _step(source, tables, recipes), extractions.version, *before)
        with open_engine(recipes.settings.engine) as engine:
            made = each_shard(engine, parse, parts, ("mentions", parts, extractions.rows))
        reports = []
        new_sums = sum((Counter(one.new_sums) for one in made), Counter())
        for position, name in enumerate(PARSED_TABLES):
            stored, sums = [one.files[position] for one in made], new_sums if name == "parsed" else {}
            inputs = {"extractions": extractions.version}
            version = tables.record(name, source, stored, inputs=inputs, fingerprint=code, new_sums=sums)
            reports.append(_report(tables, version, sum(one.kept[position] for one in made)))
        acceptance = accept(tables.home, source, *Bounds.of(recipes.settings), candidate=tables.candidate)
    return reports, acceptance


def _step(source: str, tables: SourceTables, recipes: Recipes) -> Step:
    """Return a step that can be sent to workers, without the URL of the database."""
    return Step(source, tables, Recipes(recipes.settings.model_copy(update={"database": None}), recipes.prompts))


def _earlier(tables: SourceTables, table: str, source: str, recipe: str) -> Earlier:
    versions = tuple(earlier_versions(tables, table, source))
    return Earlier(table, versions, recipe if tables.candidate else None)


def _ask(
    step: Step, earlier: Earlier, open_model: OpenModel, parts: Sequence[Shard], places: Callable[[Shard], pa.Table]
) -> tuple[list[Made], Usage] | Waiting:
    """Ask about the chunks of every shard: in this process, or in the workers of the engine."""
    settings = step.recipes.settings
    llm = settings.llm.of("extract")
    tasks = ((shard, places(shard)) for shard in parts)
    if len(parts) > 1 and (step.recipes.name_finder or not settings.llm.by_batch):
        with open_engine(settings.engine) as engine:
            if engine.workers > 1:
                share = max(1, llm.max_concurrency // engine.workers)
                ask = partial(extract_in_worker, step, earlier, open_model, share)
                answered = each_shard(engine, ask, tasks, ("extractions", parts, len(parts)))
                return [made for made, _ in answered], sum((usage for _, usage in answered), Usage())

    async def ask_here() -> tuple[list[Made], Usage] | Waiting:
        made = []
        async with open_model() as model:
            for number, task in enumerate(tasks):
                with progress.part(number, len(parts), len(parts)):
                    one = await extract_shard(step, earlier, model, llm.conversations, task)
                made += [one] if one else []
        return Waiting(frozenset(model.awaited)) if model.awaited else (made, model.usage)

    return run_sync(ask_here())


def _report(tables: SourceTables, version: TableVersion, kept: int = 0, usage: Usage | None = None) -> StageReport:
    paths = tables.paths(version.table, version.source, version.version)
    cost, priced = 0.0, version.table == "extractions"
    bucket.fetch(tables.home, paths if priced else paths[:1])  # workers on other machines may have made them
    if priced:
        costs = (atomic.read_parquet(path, ["cost_usd"])["cost_usd"] for path in paths)
        cost = sum(pc.sum(one).as_py() or 0.0 for one in costs)
    return StageReport(version, atomic.read_first(paths[0], FIRST_ROWS), kept, usage or Usage(), cost)


def _first_reasons(made: Sequence[Made]) -> list[str]:
    reasons = heapq.nsmallest(REASONS, (reason for one in made for reason in one.reasons))
    return [f"{path}: {error}" for path, error in reasons]
