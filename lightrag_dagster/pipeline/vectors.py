"""The vector tables of the newest generation: only texts without a stored vector are embedded."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import CountingEmbedder, Usage
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.errors import BudgetExceededError, EmbeddingError, ProviderError
from lightrag_dagster.models.providers import settings_of
from lightrag_dagster.pipeline.inputs import BACKFILL
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import Manifest, Vectors, VectorTable
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation

OpenEmbedder = Callable[..., AbstractAsyncContextManager[CountingEmbedder]]
"""Opens the embedder of some settings, a local one by the `engine` given."""


@dataclass(frozen=True)
class VectorReport:
    """One vector table of the newest generation, all that are made by now with their embedder, and this run's calls."""

    generation: Generation
    table: VectorTable
    vectors: Vectors
    usage: Usage


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
            settings = settings_of(embedder, recipes.settings.embedding)
            async with open_embedder(settings, engine=engine) as model:
                embedding = Embedding(model, settings, engine)
                refused = newest.vectors.tables[table].refused if newest else {}
                entry = await write_vectors(generation, table, embedding, refused)
                if table == "chunk_vectors" and model.corpus_state([]) is not None:
                    save_corpus_state(generation, embedding, _published_alike(generation, newest))
            return await record_vectors(generation, table, entry, embedding), model.usage

    with building(home, STEP_SECONDS) as lock:
        newest = Situation.building(recipes, lock).newest
        generation = generations.newest_generation(home)
        embedder = generation.inputs().embedder
        try:
            entry, usage = run_sync(build())
        except (ProviderError, EmbeddingError) as error:
            if embedder.identity == recipes.embedder or isinstance(error, BudgetExceededError):
                raise
            # The next step of wrong vectors is a setting of today's embedder.
            said = str(error).partition("; ")[0] if isinstance(error, EmbeddingError) else error
            raise type(error)(
                f"{said}; {embedder.identity} embedded the newest snapshot, {BACKFILL} embeds with {recipes.embedder}"
            ) from error
    return VectorReport(generation, entry, generation.read_record(generations.VECTORS, Vectors), usage)


def _published_alike(generation: Generation, published: Manifest | None) -> Generation | None:
    """Return the newest published generation, if the same code and embedder made it."""
    if published is None or published.inputs.recipe != generation.inputs().recipe:
        return None
    before = Generation(generation.home, published.snapshot_id)
    before.open(generations.CORPUS_STATE)
    return before
