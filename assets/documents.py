"""`raw_documents`: the present documents of a source."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import IngestConfig
from lightrag_dagster.assets.source_steps import in_own_run
from lightrag_dagster.assets.upstream import look_upstream
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.locks.base import STEP_SECONDS


@asset(
    partitioned=True,
    group_name="ingestion",
    kinds={"python", "parquet"},
    description="One row a document: text, identity, content hash and status. Failures and duplicates are rows too.",
)
def raw_documents(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> Iterator[dg.MaterializeResult]:
    """Read the source as it is now."""
    look_upstream(context.instance, lightrag.settings, [context.partition_key], STEP_SECONDS)
    yield from in_own_run("raw_documents")(context, config, lightrag)
