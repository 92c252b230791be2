"""Going on when the provider's batches are done: no worker is held while they are under way."""

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
    description="Looks at the batches under way at the language model's provider, and runs the ingestion of each "
    "source whose batches are done: it stores their answers, and submits what follows from them.",
)
def batches(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run for each source that can go on, on the terms of the run that submitted its batches."""
    home = Home(settings.home)
    if not (settings.llm.by_batch and home.batches.exists()):
        return dg.SkipReason("nothing was submitted by batch")
    from lightrag_dagster.models.batch.waiting import look_at_batches

    waiting, due = run_sync(look_at_batches(settings.llm, home))
    partitions = set(context.instance.get_dynamic_partitions("source"))
    # One run for the same batches; if they keep a source waiting, another after a while, since a run may have failed.
    bucket = int(time.time() // BATCH_RETRY_SECONDS)
    requests = [
        dg.RunRequest(
            partition_key=source,
            run_key=f"{source} {digest(names)} {bucket}",
            tags=terms_of(context.instance, waiting[source], source),
        )
        for source, names in due.items()
        if source in partitions
    ]
    return requests or dg.SkipReason(f"{len(waiting)} sources wait for batches that are under way")
