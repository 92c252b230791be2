"""`entities`, `relations` and their evidence: the merge over all accepted sources."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from assets.metadata import LLM_POOL, OWNERS, BuildConfig, account_of, made_by, stopwatch, table_metadata
from lightrag_dagster.build.inheritance import next_inputs
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.identity import table_version
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.generations import Generation, set_newest, start
from lightrag_dagster.storage.manifest import GenerationInputs
from resources import ChatModelResource, GenerationsResource

if TYPE_CHECKING:
    from lightrag_dagster.stages.merging.merge import Merged

_DESCRIPTIONS = {
    "entities": "One row an entity: the merge of its mentions in every source.",
    "relations": "One row an unordered pair of entities: the merge of its mentions in every source.",
    "entity_evidence": "The merged mentions behind each entity, with source, document and chunk.",
    "relation_evidence": "The merged mentions behind each relation, with source, document and chunk.",
}
_DEPENDENCIES = [
    dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping())
    for name in ("chunks", "entity_mentions", "relation_mentions")
]


@dg.multi_asset(
    name="merge",
    group_name="knowledge_base",
    pool=LLM_POOL,
    specs=[
        dg.AssetSpec(name, deps=_DEPENDENCIES, kinds={"duckdb", "parquet"}, owners=OWNERS, description=description)
        for name, description in _DESCRIPTIONS.items()
    ],
)
def merged(
    context: dg.AssetExecutionContext,
    config: BuildConfig,
    settings: dg.ResourceParam[Settings],
    generations: GenerationsResource,
    chat_model: ChatModelResource,
) -> Iterator[dg.MaterializeResult]:
    """Merge the accepted version of every configured source into a new generation."""
    from lightrag_dagster.stages.merging.inputs import find_previous, merge_inputs
    from lightrag_dagster.stages.merging.merge import merge

    versions = Versions.of(settings)

    async def run(generation: Generation, inputs: GenerationInputs) -> "tuple[Merged, Usage]":
        recipe = inputs.recipe or versions.recipe
        async with chat_model.open("summarise", account_of(context, settings)) as model:
            result = await merge(
                merge_inputs(generation.home, inputs),
                previous=find_previous(generation.home, inputs),
                scratch=generation.home.generation(generation.id),
                extraction_fingerprint=recipe.extractions,
                embedder_identity=recipe.embedder.identity,
                model=model,
                prompts=versions.prompts,
                settings=recipe.merging,
                count_tokens=load_tokenizer(recipe.encoding).counts,
                max_concurrency=settings.llm.of("summarise").max_concurrency,
            )
            return result, model.usage

    with stopwatch() as watch, generations.building() as home:
        inputs = next_inputs(versions, backfill=config.backfill)
        generation = start(home, inputs)
        usage, extent = Usage(), "nothing"
        if not all(generation.has(name) for name in MERGED_TABLES):
            result, usage = run_sync(run(generation, inputs))
            changed = result.changed_chunks
            extent = "everything" if changed is None else f"what {changed} changed chunks touch"
            generation.write_tables(result.tables)
        set_newest(home, generation)
    for name in MERGED_TABLES:
        table = generation.read_table(name)
        yield dg.MaterializeResult(
            asset_key=name,
            data_version=dg.DataVersion(table_version(table)),
            tags=made_by(inputs.fingerprint),
            metadata=table_metadata(
                table,
                seconds=watch.seconds,
                generation=generation.id,
                merged=extent,
                summary_calls=usage.calls,
                summary_cost_usd=usage.cost_usd,
                left_out=dict(inputs.left_out),
            ),
        )
