"""Publishing by itself: when what is accepted differs from what is published."""

import time

import dagster as dg

from assets.automation.runs import UNDER_WAY, end_orphans
from assets.automation.values import PUBLICATION_CHECK_SECONDS, PUBLICATION_RETRY_SECONDS
from assets.metadata import KEEP_DRIFTED
from lightrag_dagster.build.inheritance import next_inputs
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.generations import generation_id
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import latest_snapshot


@dg.sensor(
    name="publish_accepted",
    job_name="publish",
    minimum_interval_seconds=PUBLICATION_CHECK_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Merges and publishes when the accepted versions of the sources, or the sources themselves, are no "
    "longer those of the newest snapshot, and no ingestion is under way.",
)
def publish_accepted(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.RunRequest | dg.SkipReason:
    """Compare manifests, never the event log; a source that is gone counts as a change."""
    home = Home(settings.home)
    end_orphans(context.instance, home)
    jobs = [dg.RunsFilter(job_name=job, statuses=UNDER_WAY) for job in ("ingest", "publish")]
    if any(context.instance.get_runs_count(job) for job in jobs):
        return dg.SkipReason("waiting for the runs under way")
    wanted, newest = next_inputs(Versions.of(settings)), latest_snapshot(home)
    if not wanted.sources:
        return dg.SkipReason("no source has an accepted version yet")
    if newest is not None and newest.inputs == wanted:
        return dg.SkipReason("the newest snapshot holds what is accepted")
    # The same inputs are tried again after a while: what failed may have been mended outside.
    bucket = int(time.time() // PUBLICATION_RETRY_SECONDS)
    return dg.RunRequest(run_key=f"{generation_id(wanted)} {bucket}", tags=KEEP_DRIFTED)
