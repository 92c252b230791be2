"""`communities`: groups of entities of the published graph."""

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import stopwatch, table_metadata
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, count_values


@asset(
    deps=["knowledge_base"],
    group_name="downstream",
    kinds={"parquet"},
    description="One row a group of entities that have more relations among each other than to others, by the Leiden "
    "algorithm; needs the extra `graph`.",
)
def communities(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Find the communities of the published graph, unless they are stored."""
    from lightrag_dagster.pipeline.communities import communities as find

    with stopwatch() as watch:
        found = find(lightrag.home)
    levels = {f"communities/level {level}": rows for level, rows in count_values(found["level"]).items()}
    version = lightrag.tables().require("communities", ALL_SOURCES)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version.version),
        metadata=table_metadata(found, seconds=watch.seconds) | levels,
    )
