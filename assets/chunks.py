"""`chunks`: the pieces of a source's documents."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import IngestConfig
from lightrag_dagster.assets.source_steps import in_own_run
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
) -> Iterator[dg.MaterializeResult]:
    """Cut the documents as `chunking` says; unchanged text keeps its chunks, except in a backfill."""
    yield from in_own_run("chunks", context, config, lightrag)
