"""Building a generation: merge the accepted sources, embed, publish; `pipeline.graph` builds the graph.

Each function is one step on the newest generation, under the builder's lock, and does nothing if the step is finished.
The merge follows today's code and settings at once and keeps two things until a backfill: the embedder of the newest
snapshot, and summaries whose descriptions have not changed.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import CountingEmbedder, Usage
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.errors import BudgetExceededError, EmbeddingError, ProviderError, SettingsError, StoreError
from lightrag_dagster.models.providers import embedder_identity, settings_of
from lightrag_dagster.pipeline.merge import BACKFILL, count_recipes, has_outdated_summaries, merge_after
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shard_steps import OpenModel
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.files import bucket
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.locks import building
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.records import Embedder, GenerationInputs, Manifest, VectorTable
from lightrag_dagster.storage.snapshots.snapshots import latest_snapshot, publish, require_current
from lightrag_dagster.storage.tables.acceptance import accepted

_log = logging.getLogger(__name__)

LOCK_SECONDS = 3600.0
"""How long a step waits for another builder: longer than any merge, shorter than a night."""


OpenEmbedder = Callable[[Embedder, Engine], AbstractAsyncContextManager[CountingEmbedder]]


@dataclass(frozen=True)
class MergeReport:
    """The merged generation, whether it was merged or was there already, and the calls for its summaries."""

    generation: Generation
    merged: bool
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class VectorReport:
    """One vector table of the newest generation, the embedder that made it, and the calls of this run."""

    generation: Generation
    table: VectorTable
    embedder: Embedder
    usage: Usage


@dataclass(frozen=True)
class Outdated:
    """What a backfill of the knowledge base would make again: rows whose summary another recipe made, all vectors."""

    summaries: int = 0
    vectors: bool = False

    @property
    def parts(self) -> list[str]:
        """Those of `summaries` and `vectors` that are outdated."""
        return [name for name in ("summaries", "vectors") if getattr(self, name)]


def next_inputs(recipes: Recipes, *, backfill: bool = False) -> GenerationInputs:
    """Return what a merge would read now.

    Args:
        recipes: Today's settings, prompts and recipes.
        backfill: Embed with today's embedder, not with that of the newest snapshot.

    Raises:
        EmbeddingError: the embedder of the newest snapshot cannot be opened any more, and there is something to merge.
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    home = Home.of(recipes.settings)
    records = {source: accepted(home, source) for source in sorted(find_sources(recipes.settings))}
    inputs = recipes.generation_inputs(
        {source: record.tables for source, record in records.items() if record},
        {source: "no version of it was accepted yet" for source, record in records.items() if not record},
    )
    newest = latest_snapshot(home)
    if newest is None:
        return inputs
    kept = newest.inputs.embedder
    if not backfill or kept.identity == inputs.embedder.identity:
        inputs = inputs.model_copy(update={"embedder": kept})
    if inputs != newest.inputs:
        _check_embedder(inputs.embedder, recipes)
    return inputs


def next_publication(recipes: Recipes, *, backfill: bool = False) -> GenerationInputs | None:
    """Return what a merge would read, or None if the newest snapshot is that already; raises as `next_inputs`.

    A backfill also merges when the snapshot has outdated or failed summaries.
    """
    newest = latest_snapshot(Home.of(recipes.settings))
    inputs = next_inputs(recipes, backfill=backfill)
    if newest is None:
        return inputs if inputs.sources else None
    generation = Generation(Home.of(recipes.settings), newest.snapshot_id)
    done = newest.inputs == inputs and not (backfill and _summaries_to_make(generation, recipes))
    return None if done else inputs


def outdated(recipes: Recipes) -> Outdated:
    """Return what of the newest snapshot another recipe than today's made; raises StoreError."""
    home = Home.of(recipes.settings)
    newest = latest_snapshot(home)
    if newest is None:
        return Outdated()
    made_by = Generation(home, newest.snapshot_id).record().summaries
    summaries = sum(rows for recipe, rows in made_by.items() if recipe != recipes.summaries)
    return Outdated(summaries, newest.inputs.embedder.identity != recipes.embedder)


def merge_sources(recipes: Recipes, open_model: OpenModel, *, backfill: bool = False) -> MergeReport:
    """Merge the accepted version of every configured source into a generation and make it the newest one.

    Args:
        recipes: Today's settings, prompts and recipes.
        open_model: Opens the model that summarises.
        backfill: Make outdated summaries again, and use today's embedder.

    Raises:
        ProviderAccessError: no summary can succeed until a person acts; what was answered is stored.
        EmbeddingError, SourceError, StoreError: see `next_inputs`.
    """
    home = Home.of(recipes.settings)
    with building(home, LOCK_SECONDS):
        generations.remove_leftovers(home)
        inputs = next_inputs(recipes, backfill=backfill)
        last = _last_merged(home)
        if last and _is_merged(last, inputs) and not (backfill and _summaries_to_make(last, recipes)):
            return MergeReport(last, merged=False)
        with merge_after(last, inputs, recipes, open_model, backfill=backfill) as made:
            tables = made.merged._asdict()
            generation = generations.store(home, inputs, tables, count_recipes(made.merged), made.failed)
        generations.set_newest(home, generation)
    return MergeReport(generation, merged=True, usage=made.usage)


def embed(recipes: Recipes, table: str, open_embedder: OpenEmbedder) -> VectorReport:
    """Build one of VECTOR_TABLES of the newest generation, embedding only texts without a stored vector.

    Raises:
        ProviderError: the embedder failed; finished vectors are stored.
        EmbeddingError: its vectors cannot be used.
        IntegrityError, StoreError: a table cannot be read or written.
    """
    from lightrag_dagster.indexes.embedding import record_vectors, save_corpus_state, write_vectors
    from lightrag_dagster.indexes.embedding_batches import Embedding

    home = Home.of(recipes.settings)

    async def build() -> tuple[VectorTable, Usage]:
        with open_engine(recipes.settings.engine) as engine:
            async with open_embedder(embedder, engine) as model:
                settings = settings_of(embedder, recipes.settings.embedding)
                embedding = Embedding(model, settings, engine)
                entry = await write_vectors(generation, table, embedding)
                if table == "chunk_vectors":
                    save_corpus_state(generation, embedding)
            return await record_vectors(generation, table, entry, embedding), model.usage

    with building(home, LOCK_SECONDS):
        generation = generations.newest(home)
        embedder = generation.inputs().embedder
        try:
            entry, usage = run_sync(build())
        except ProviderError as error:
            if embedder.identity == recipes.embedder or isinstance(error, BudgetExceededError):
                raise
            raise type(error)(
                f"{error}; {embedder.identity} embedded the newest snapshot, {BACKFILL} embeds with {recipes.embedder}"
            ) from error
    return VectorReport(generation, entry, embedder, usage)


def publish_newest(recipes: Recipes) -> Manifest:
    """Check the newest generation, publish it, and collect garbage if the settings say so.

    Raises:
        IntegrityError: the generation is not whole; the published snapshot stays.
        StoreError: a part of it is missing or damaged, or the disk refuses.
    """
    from lightrag_dagster.indexes.integrity import findings
    from lightrag_dagster.indexes.views import build_views
    from lightrag_dagster.storage.snapshots.gc import collect_garbage

    home, retention = Home.of(recipes.settings), recipes.settings.retention
    with building(home, LOCK_SECONDS) as lock:
        generation = generations.newest(home)
        build_views(generation)
        manifest = publish(home, generation, findings(generation), lock)
        if retention.automatic:
            skipped = collect_garbage(home, retention, dry_run=False).skipped
            if skipped:
                _log.info("gc skipped sources that are being ingested, until next time: %s", ", ".join(skipped))
    return manifest


def check_published(home: Home) -> list[str]:
    """Return what is wrong with the published snapshot and, if it is built, its graph; one line a kind of problem.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: a table or store is damaged.
    """
    from lightrag_dagster.indexes.integrity import findings, graph_findings
    from lightrag_dagster.indexes.views import build_views

    bucket.refresh(home)
    generation = generations.fetched(home, require_current(home).snapshot_id)
    if home.bucket:
        build_views(generation)
    problems = findings(generation)
    if not problems and generation.has(generations.GRAPH_RECORD):
        problems = graph_findings(generation, generation.path(generations.GRAPH))
    return problems


def _last_merged(home: Home) -> Generation | None:
    """Return the newest generation, the newest snapshot if there is none, or None."""
    try:
        generation = generations.newest(home)
        generation.record()
    except StoreError:
        snapshot = latest_snapshot(home)
        return generations.fetched(home, snapshot.snapshot_id) if snapshot else None
    return generation


def _is_merged(generation: Generation, inputs: GenerationInputs) -> bool:
    return generation.inputs() == inputs and all(generation.has(table) for table in MERGED_TABLES)


def _summaries_to_make(generation: Generation, recipes: Recipes) -> bool:
    return has_outdated_summaries(generation, recipes) or generation.record().failed_summaries > 0


def _check_embedder(embedder: Embedder, recipes: Recipes) -> None:
    try:
        now = embedder_identity(settings_of(embedder, recipes.settings.embedding))
    except SettingsError as error:
        raise EmbeddingError(
            f"{error}; {embedder.identity} embedded the newest snapshot, {BACKFILL} embeds with {recipes.embedder}"
        ) from error
    if now != embedder.identity:
        raise EmbeddingError(
            f"the newest snapshot was embedded by {embedder.identity}, which this version of the package lacks; "
            f"{BACKFILL} embeds with {recipes.embedder}"
        )
