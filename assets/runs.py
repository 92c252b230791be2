"""The runs that are under way."""

from collections.abc import Iterable

import dagster as dg
from dagster._core.execution.backfill import BulkActionsFilter, BulkActionStatus

from assets import INGESTION, PUBLICATION
from assets.jobs import BUILDING
from assets.metadata import COMMAND_TAG
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
_BUILT = {key.path[-1] for definition in (*INGESTION, *PUBLICATION) for key in definition.keys}


def building_under_way(instance: dg.DagsterInstance) -> bool:
    """Say whether a run or a backfill in Dagster is making what is merged or published.

    What counts are the assets, not the name of the job: the UI launches chosen assets under a name of its own.
    """
    jobs = tuple(job.name for job in BUILDING)  # a namespace comes before the name
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY)):
        if _builds(run.asset_selection) if run.asset_selection else run.job_name.endswith(jobs):
            return True
    for backfill in instance.get_backfills(BulkActionsFilter(statuses=_BACKFILLS_UNDER_WAY)):
        if not backfill.asset_selection or _builds(backfill.asset_selection):
            return True
    return False


def _builds(selection: Iterable[dg.AssetKey]) -> bool:
    return not _BUILT.isdisjoint(key.path[-1] for key in selection)


def end_orphans(instance: dg.DagsterInstance, home: Home) -> None:
    """Report as failed each run of a command that was killed.

    A command holds the builder's lock as long as it lives; what Dagster still believes to run without it would keep its
    place in the queue for ever. The runs of the daemon are watched by the daemon; they know from which code location
    they were launched, and may have a command's tags when they continue what it began.
    """
    try:
        with building(home, 0):
            for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY)):
                if COMMAND_TAG in run.tags and run.remote_job_origin is None:
                    instance.report_run_failed(run, "the command that began this run was killed; its work is kept")
    except BuilderLockedError:
        return
