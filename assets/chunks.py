"""`chunks`: the pieces of a source's documents."""

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.source_steps import in_own_run

chunks = asset(
    name="chunks",
    partitioned=True,
    deps=["raw_documents"],
    group_name="ingestion",
    kinds={"python", "parquet"},
    description="One row a chunk position: content-addressed id, text, tokens, character span and heading.",
)(in_own_run("chunks"))
