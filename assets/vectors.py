"""`chunk_vectors`, `entity_vectors` and `relation_vectors`: LanceDB tables, only changed rows embedded and written."""

from typing import Any

import dagster as dg

from assets.metadata import OWNERS, WRITER_POOL, account_of, made_by, stopwatch
from lightrag_dagster.build.inheritance import explaining_inherited
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.manifest import VectorTable
from resources import EmbedderResource, GenerationsResource


def _vectors(
    context: dg.AssetExecutionContext,
    settings: Settings,
    generations: GenerationsResource,
    embedder: EmbedderResource,
    name: str,
) -> dg.MaterializeResult:
    from lightrag_dagster.indexes.embedding import build_vectors, save_corpus_state

    async def build(generation: Generation) -> tuple[VectorTable, Usage]:
        async with embedder.open(account_of(context, settings), chosen) as model:
            entry = await build_vectors(generation, name, model, chosen.settings(settings.embedding))
            if name == "chunk_vectors":
                save_corpus_state(generation, model)
            return entry, model.usage

    with stopwatch() as watch, generations.building():
        generation, now = generations.newest(), Versions.of(settings).recipe
        chosen = (generation.inputs().recipe or now).embedder
        with explaining_inherited(chosen, now.embedder):
            entry, usage = run_sync(build(generation))
    metadata: dict[str, Any] = {
        "dagster/row_count": entry.rows,
        "lance_table": entry.table,
        "tag": entry.tag,
        "upserted": entry.upserted,
        "deleted": entry.deleted,
        "dimensions": entry.dimensions,
        "cut_texts": usage.cut_texts,
        "calls": usage.calls,
        "stored_vectors": usage.stored,
        "input_tokens": usage.input_tokens,
        "cost_usd": usage.cost_usd,
        "seconds": watch.seconds,
    }
    return dg.MaterializeResult(
        data_version=dg.DataVersion(f"{generation.id}/{entry.table}"),
        tags=made_by(chosen.identity),
        metadata=metadata,
    )


@dg.asset(
    deps=[dg.AssetDep("chunks", partition_mapping=dg.AllPartitionMapping()), "entities"],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"lancedb"},
    owners=OWNERS,
    description="One vector a distinct chunk, of its text. Follows `entities`, which begins the generation.",
)
def chunk_vectors(
    context: dg.AssetExecutionContext,
    settings: dg.ResourceParam[Settings],
    generations: GenerationsResource,
    embedder: EmbedderResource,
) -> dg.MaterializeResult:
    """Embed the chunks that have no vector yet."""
    return _vectors(context, settings, generations, embedder, "chunk_vectors")


@dg.asset(
    deps=["entities"],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"lancedb"},
    owners=OWNERS,
    description="One vector an entity, of its name and description.",
)
def entity_vectors(
    context: dg.AssetExecutionContext,
    settings: dg.ResourceParam[Settings],
    generations: GenerationsResource,
    embedder: EmbedderResource,
) -> dg.MaterializeResult:
    """Embed the entities that have no vector yet."""
    return _vectors(context, settings, generations, embedder, "entity_vectors")


@dg.asset(
    deps=["relations"],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"lancedb"},
    owners=OWNERS,
    description="One vector a relation, of its keywords, endpoints and description.",
)
def relation_vectors(
    context: dg.AssetExecutionContext,
    settings: dg.ResourceParam[Settings],
    generations: GenerationsResource,
    embedder: EmbedderResource,
) -> dg.MaterializeResult:
    """Embed the relations that have no vector yet."""
    return _vectors(context, settings, generations, embedder, "relation_vectors")
