"""The runs that are under way, and those that only seem to be."""

import dagster as dg

from assets.metadata import COMMAND_TAG, KEEP_DRIFTED
from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.models.batch.ledger import Waiting
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def end_orphans(instance: dg.DagsterInstance, home: Home) -> None:
    """Report as failed each run of a command that was killed.

    A command holds the builder's lock as long as it lives; what Dagster still believes to run without it would keep its
    place in the queue for ever. The runs of the daemon are watched by the daemon; they know from which code location
    they were launched, and may have a command's tags when they go on with what it began.
    """
    try:
        with building(home, 0):
            for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY)):
                if COMMAND_TAG in run.tags and run.remote_job_origin is None:
                    instance.report_run_failed(run, "the command that began this run was killed; its work is kept")
    except BuilderLockedError:
        return


def terms_of(waiting: Waiting) -> dict[str, str]:
    """Return the tags of a run that continues an extraction after its batches: its account, and if it is a backfill."""
    return {COMMAND_TAG: waiting.run} | ({} if waiting.backfill else KEEP_DRIFTED)
