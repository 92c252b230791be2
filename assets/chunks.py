"""`chunks`: the pieces of a source's documents."""

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import IngestConfig, account_of, ingested, is_backfill, stopwatch
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.resources import LightRAG


@asset(
    partitioned=True,
    deps=["raw_documents"],
    group_name="ingestion",
    kinds={"python", "parquet"},
    description="One row a chunk position: content-addressed id, text, tokens, character span and heading.",
)
def chunks(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Cut the documents as `chunking` says; unchanged text keeps its chunks, except in a backfill."""
    account = account_of(context, lightrag.settings, context.partition_key)
    tables = lightrag.tables(candidate=is_backfill(context, config, lightrag.settings))
    with stopwatch() as watch, logged(context, lightrag):
        report = chunk_source(context.partition_key, tables, lightrag.recipes, lightrag.chunking_embedder(account))
    return ingested(report, lightrag.recipes, watch)
