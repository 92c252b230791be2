"""`extractions`: the language model's answers for each distinct chunk."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.declared import LLM_POOL, asset
from lightrag_dagster.assets.metadata import IngestConfig, account_of, ingested, is_backfill, stopwatch
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.pipeline.extractions import Waiting, extract_source
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
    source, backfill = context.partition_key, is_backfill(context, config, lightrag.settings)
    tables = lightrag.tables(candidate=backfill)
    account = account_of(context, lightrag.settings, source)
    with stopwatch() as watch, logged(context, lightrag):
        model = lightrag.extraction_model(account, backfill=backfill)
        report = extract_source(source, tables, lightrag.recipes, model)
    if isinstance(report, Waiting):
        batches = {"batches": sorted(report.batches)}
        context.log_event(dg.AssetObservation(context.asset_key, partition=source, metadata=batches))
    else:
        yield ingested(report, lightrag.recipes, watch)
