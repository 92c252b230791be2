"""The runs that are under way."""

import dagster as dg
from dagster._core.execution.backfill import BulkActionsFilter, BulkActionStatus

from assets.jobs import BUILDING, INGESTED, JOBS, PUBLISHED
from assets.metadata import COMMAND_TAG
from assets.namespace import Namespace
from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building

_UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_BACKFILLS_UNDER_WAY = [BulkActionStatus.REQUESTED, BulkActionStatus.CANCELING]


def building_under_way(instance: dg.DagsterInstance, namespace: Namespace) -> bool:
    """Return True if a run or a backfill in Dagster is making what this knowledge base merges or publishes.

    What counts are the assets, not the name of the job: the UI launches chosen assets under a name of its own.
    """
    built = {namespace.key(asset) for asset in (*INGESTED, *PUBLISHED)}
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY)):
        if not built.isdisjoint(run.asset_selection or ()):
            return True
        if not run.asset_selection and run.job_name in map(namespace.named, BUILDING):
            return True
    for backfill in instance.get_backfills(BulkActionsFilter(statuses=_BACKFILLS_UNDER_WAY)):
        if not backfill.asset_selection or not built.isdisjoint(backfill.asset_selection):
            return True
    return False


def end_orphans(instance: dg.DagsterInstance, home: Home, namespace: Namespace) -> None:
    """Report as failed each run of a command of this knowledge base that was killed.

    A command holds the builder's lock as long as it lives; what Dagster still believes to run without it would keep its
    place in the queue for ever. The runs of the daemon are watched by the daemon; they know from which code location
    they were launched, and may have a command's tags when they continue what it began.
    """
    try:
        with building(home, 0):
            for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY)):
                of_command = COMMAND_TAG in run.tags and run.remote_job_origin is None
                if of_command and run.job_name in map(namespace.named, JOBS):
                    instance.report_run_failed(run, "the command that began this run was killed; its work is kept")
    except BuilderLockedError:
        return
