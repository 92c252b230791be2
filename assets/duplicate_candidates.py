"""`duplicate_candidates`: names of the published snapshot that may be one."""

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import stopwatch, table_metadata
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import count_values


@asset(
    deps=["knowledge_base"],
    group_name="downstream",
    kinds={"parquet", "duckdb"},
    description="One row a pair of entities of the published snapshot that may be one, with evidence, a score and a "
    "verdict. Nothing is joined: `curate review` asks people.",
)
def duplicate_candidates(
    context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Compare the names of the published snapshot."""
    from lightrag_dagster.curation.desk import find_duplicates

    with stopwatch() as watch:
        found = find_duplicates(lightrag.settings)
    verdicts = {f"pairs/{verdict}": pairs for verdict, pairs in count_values(found.rows["verdict"]).items()}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(found.version),
        metadata=table_metadata(found.rows, seconds=watch.seconds)
        | verdicts
        | {"cut": found.cut, "outdone": found.outdone, "dropped_unlikely": found.unlikely},
    )
