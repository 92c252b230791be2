"""The jobs: assets that are made in one run."""

import dagster as dg

from assets import INGESTION, PUBLICATION, SOURCE_CHECKS
from assets.metadata import IngestConfig

INGEST = dg.define_asset_job(
    "ingest", selection=INGESTION, description="Read, chunk, extract and parse one source (one partition)."
)
BACKFILL = dg.define_asset_job(
    "backfill",
    selection=INGESTION,
    config=dg.RunConfig(
        ops={definition.node_def.name: IngestConfig(backfill=True) for definition in (*INGESTION, *SOURCE_CHECKS)}
    ),
    description="Make the rows of one source again that another recipe made; may cost as much as the first ingestion.",
)
PUBLISH = dg.define_asset_job(
    "publish", selection=PUBLICATION, description="Merge all accepted sources, build the stores, check and publish."
)
ASK = dg.define_asset_job("ask", selection=["answers"], description="Ask the published snapshot every question.")
EVALUATE = dg.define_asset_job(
    "evaluate",
    selection=["retrieval_evaluation"],
    description="Measure how well each mode finds what answers the filed questions.",
)
REPORT = dg.define_asset_job(
    "report", selection=["status_report"], description="Report what is pending, rejected or outdated."
)

JOBS = [INGEST, BACKFILL, PUBLISH, ASK, EVALUATE, REPORT]
BUILDING = (INGEST, BACKFILL, PUBLISH)
"""The jobs that change what is accepted or published."""
