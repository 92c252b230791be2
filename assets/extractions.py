"""`extractions`: the language model's answers for each distinct chunk."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.declared import LLM_POOL, asset
from lightrag_dagster.assets.metadata import IngestConfig
from lightrag_dagster.assets.source_steps import in_own_run
from lightrag_dagster.resources import LightRAG


@asset(
    partitioned=True,
    deps=["chunks"],
    group_name="ingestion",
    pool=LLM_POOL,
    kinds={"openai", "parquet"},
    skippable=True,
    description="One row a distinct chunk: the raw responses of every round, status, tokens and cost.",
)
def extractions(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> Iterator[dg.MaterializeResult]:
    """Ask the model about every chunk that it has not answered yet; in a backfill, about outdated rows too.

    In batch mode, unless all responses are there, the step submits the missing requests and ends without a
    materialisation: the rest of the run and its checks are skipped, the source's last accepted tables stay, and the
    sensor `batches` starts it again.
    """
    yield from in_own_run("extractions", context, config, lightrag)
