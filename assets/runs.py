"""The runs of a knowledge base: those that are under way, and those that were killed."""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from lightrag_dagster.assets import ASSETS, INGESTION, PUBLICATION
from lightrag_dagster.assets.declared import Declared
from lightrag_dagster.assets.jobs import BUILDING, JOBS
from lightrag_dagster.assets.metadata import COMMAND_TAG, HANGS
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building

MANY_SOURCES = "ingest_sources"
"""Step of the jobs `ingest` and `backfill` when a command works at any number of sources in one run."""

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_BACKFILLS_UNDER_WAY = ("REQUESTED", "CANCELING", "FAILING")
_LAST_BACKFILLS = 100  # an instance keeps them for ever, and each is read whole


def building_under_way(instance: dg.DagsterInstance, namespace: Namespace) -> bool:
    """Return True if an unfinished run or backfill in Dagster makes parts that this knowledge base merges or publishes.

    The assets count, not the name of the job: the UI launches chosen assets under a name of its own. A run whose status
    is older than HANGS does not count: it may have died unseen.
    """
    built = _keys(namespace, *INGESTION, *PUBLICATION)
    jobs = [*map(namespace.named, BUILDING)]
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY, updated_after=datetime.now(UTC) - HANGS))
    if any(is_of(instance, namespace, run, [*INGESTION, *PUBLICATION]) for run in runs):
        return True
    for backfill in instance.get_backfills(limit=_LAST_BACKFILLS):
        ours = backfill.job_name in jobs or not built.isdisjoint(backfill.asset_selection or ())
        if ours and backfill.status.name in _BACKFILLS_UNDER_WAY:
            return True
    return False


def under_way(instance: dg.DagsterInstance, namespace: Namespace) -> bool:
    """Return True if Dagster has an unfinished run of this knowledge base."""
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
    return any(is_of(instance, namespace, run) for run in runs)


def wipe_assets(instance: dg.DagsterInstance, namespace: Namespace) -> None:
    """Forget the materialisations and checks of this knowledge base; their metadata shows rows of the tables."""
    instance.wipe_assets(sorted(_keys(namespace, *ASSETS)))


def is_of(
    instance: dg.DagsterInstance, namespace: Namespace, run: dg.DagsterRun, declared: Sequence[Declared] = ASSETS
) -> bool:
    """Say whether a run makes or checks assets of a namespace, or those that are given, by any job.

    Another code location may have jobs of the same names, or, where there is no namespace, a step.
    """
    if chosen := {*(run.asset_selection or ()), *(check.asset_key for check in run.asset_check_selection or ())}:
        return not _keys(namespace, *declared).isdisjoint(chosen)
    is_named = run.job_name in map(namespace.named, JOBS)
    if run.job_snapshot_id is None:
        return is_named
    steps = {namespace.named(name) for name in (MANY_SOURCES, *(one.name for one in declared))}
    found = steps.intersection(instance.get_job_snapshot(run.job_snapshot_id).node_names)
    return len(found) > (0 if is_named or namespace.prefix else 1)


def _keys(namespace: Namespace, *steps: Declared) -> set[dg.AssetKey]:
    return {namespace.key(name) for declared in steps for name in declared.assets}


def end_orphans(instance: dg.DagsterInstance, home: Home, namespace: Namespace) -> bool:
    """Report as failed each run of a command of this knowledge base that was killed; False if a process builds now.

    A command holds the builder's lock while it lives; a run of a killed command would always count as running and keep
    its place in the queue. The daemon watches its own runs; they have the code location that launched them, and may
    have a command's tags when they continue its work.
    """
    try:
        with building(home, 0):
            for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY)):
                of_command = COMMAND_TAG in run.tags and run.remote_job_origin is None
                if of_command and run.job_name in map(namespace.named, JOBS):
                    instance.report_run_failed(run, "the command that began this run was killed; its work is kept")
            return True
    except BuilderLockedError:
        return False
