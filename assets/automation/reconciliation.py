"""Finishing sources that a failed or killed run left half ingested."""

import time
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.automation.runs import UNDER_WAY, end_orphans
from assets.automation.values import (
    MOST_FAILURES_A_DAY,
    MOST_RUN_SECONDS,
    RECONCILE_RETRY_SECONDS,
    RECONCILE_SECONDS,
)
from assets.metadata import KEEP_DRIFTED
from lightrag_dagster.build.staleness import first_stale
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables

AUTOMATIC = KEEP_DRIFTED | {"dagster/max_runtime": str(MOST_RUN_SECONDS)}
"""Tags of every ingestion that nobody started by hand."""


@dg.sensor(
    name="reconcile",
    job_name="ingest",
    minimum_interval_seconds=RECONCILE_SECONDS,
    description="Finishes sources that a failed run left half ingested, and chunks that failed for a passing reason. "
    "Stopped until somebody starts it, since it may cost money: start it with the schedule `nightly`.",
)
def reconcile(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run for each source that is left behind, at most once an hour."""
    end_orphans(context.instance, Home(settings.home))
    bucket = int(time.time() // RECONCILE_RETRY_SECONDS)
    requests = [
        dg.RunRequest(partition_key=name, run_key=f"{name} {bucket}", tags=AUTOMATIC)
        for name in left_behind(settings, context.instance)
    ]
    return requests or dg.SkipReason("no source is left behind")


def left_behind(settings: Settings, instance: dg.DagsterInstance) -> list[str]:
    """Return the partitions of which a table is missing or older than what it is made from, files and drift apart.

    Left out are those with a run under way, those that wait for batches, and those that failed too often since
    yesterday.
    """
    home = Home(settings.home)
    tables, waiting = SourceTables(home), sources_that_wait(settings.llm, home)
    versions = Versions.of(settings.model_copy(update={"backfill": "manual"}))
    names = []
    for name in sorted(instance.get_dynamic_partitions("source")):
        documents = tables.current("raw_documents", name)
        if name in waiting or documents is None or not first_stale(tables, name, documents.inputs["files"], versions):
            continue
        of_partition = {"dagster/partition": name}
        running = dg.RunsFilter(statuses=UNDER_WAY, tags=of_partition)
        failed = dg.RunsFilter(
            statuses=[dg.DagsterRunStatus.FAILURE],
            tags=of_partition,
            created_after=datetime.now(UTC) - timedelta(days=1),
        )
        if not instance.get_runs_count(running) and instance.get_runs_count(failed) < MOST_FAILURES_A_DAY:
            names.append(name)
    return names
