"""`raw_documents`: the present documents of a source."""

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import IngestConfig, account_of, ingested, is_backfill, stopwatch
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.assets.upstream import look_upstream
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.shards import LOCK_SECONDS
from lightrag_dagster.resources import LightRAG


@asset(
    partitioned=True,
    group_name="ingestion",
    kinds={"python", "parquet"},
    description="One row a document: text, identity, content hash and status. Failures and duplicates are rows too.",
)
def raw_documents(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Read the source as it is now."""
    tables = lightrag.tables(candidate=is_backfill(context, config, lightrag.settings))
    source = context.partition_key
    describer = lightrag.describing_model(account_of(context, lightrag.settings, source))
    look_upstream(context.instance, lightrag.settings, [source], LOCK_SECONDS)
    with stopwatch() as watch, logged(context, lightrag):
        report = read_source(lightrag.source(source), tables, lightrag.recipes, describer)
    return ingested(report, lightrag.recipes, watch)
