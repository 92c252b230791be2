"""`extractions`: the language model's answers for each distinct chunk.

While the responses wait in batches at the provider there is no materialisation: the rest of the run and its checks are
skipped, the source's last accepted tables stay, and the sensor `batches` starts it again.
"""

from lightrag_dagster.assets.declared import LLM_POOL, asset
from lightrag_dagster.assets.source_steps import in_own_run

extractions = asset(
    name="extractions",
    partitioned=True,
    deps=["chunks"],
    group_name="ingestion",
    pool=LLM_POOL,
    kinds={"openai", "parquet"},
    skippable=True,
    description="One row a distinct chunk: the raw responses of every round, status, tokens and cost.",
)(in_own_run("extractions"))
