"""`chunks`: token windows of a source's documents."""

import dagster as dg

from assets.metadata import IngestConfig, ingested, is_backfill, stopwatch
from assets.partitions import SOURCES
from lightrag_dagster.build.ingest import chunk_source
from resources import LightRAG


@dg.asset(
    partitions_def=SOURCES,
    deps=["raw_documents"],
    group_name="ingestion",
    kinds={"python", "parquet"},
    description="One row a chunk position: content-addressed id, text, tokens, character span and heading.",
)
def chunks(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Cut the documents into token windows; unchanged text keeps its chunks, except in a backfill."""
    tables = lightrag.tables(candidate=is_backfill(context, config, lightrag.settings))
    with stopwatch() as watch:
        report = chunk_source(context.partition_key, tables, lightrag.recipes)
    return ingested(report, lightrag.recipes, watch)
