"""Continuing extractions when the provider's batches are done: no worker is held while they are under way."""

import time

import dagster as dg

from assets.automation.runs import terms_of
from assets.automation.values import BATCH_CHECK_SECONDS, BATCH_RETRY_SECONDS
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home


@dg.sensor(
    name="batches",
    job_name="ingest",
    minimum_interval_seconds=BATCH_CHECK_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Polls the batches under way at the language model's provider, and runs the ingestion of each "
    "source whose batches are done: it stores their answers, and submits the next ones.",
)
def batches(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run for each extraction that can continue, with the account of the run that submitted its batches."""
    home = Home(settings.home)
    if not (settings.llm.by_batch and home.batches.exists()):
        return dg.SkipReason("nothing was submitted by batch")
    from lightrag_dagster.models.batch.waiting import poll_batches

    due = run_sync(poll_batches(settings.llm, home))
    partitions = set(context.instance.get_dynamic_partitions("source"))
    # One run for the same batches in the same states; another after a while, since a run may have failed.
    bucket = int(time.time() // BATCH_RETRY_SECONDS)
    requests = [
        dg.RunRequest(
            partition_key=waiting.source,
            run_key=f"{waiting.source} {digest(waiting.backfill, states)} {bucket}",
            tags=terms_of(waiting),
        )
        for waiting, states in due.items()
        if waiting.source in partitions
    ]
    return requests or dg.SkipReason("every extraction that waits has batches under way")
