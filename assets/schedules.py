"""The schedules: automation at fixed times."""

import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import dagster as dg

from lightrag_dagster.assets.jobs import Job, is_wanted
from lightrag_dagster.assets.metadata import COMMAND_TAG, HANGS
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.runs import UNDER_WAY
from lightrag_dagster.assets.upstream import look_upstream
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.pipeline.pending import look_at_sources, note_looks
from lightrag_dagster.pipeline.scopes import tidy_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings

TICK_VARIABLES = ("DAGSTER_SCHEDULE_GRPC_TIMEOUT_SECONDS", "DAGSTER_GRPC_TIMEOUT_SECONDS")
"""Environment variables with the seconds that Dagster waits for a tick of a schedule; the first one set counts."""

DEFAULT_TICK_SECONDS = 60

SLOW_TAG = "lightrag/slow"
"""Run tag: the reason to ingest a source without a known change."""

MORNING = "0 6 * * *"
"""The report is made when the night's runs have ended and before the first person asks how they went."""

MORNING_DEADLINE = "0 7 * * *"
"""An hour later the report is overdue: the daemon was not running."""

MORNING_SLACK = timedelta(hours=2)
"""A report made after five counts for this morning, so that the clock of a slow night does not matter."""

FRESHNESS: dict[str, dg.FreshnessPolicy] = {"status_report": dg.FreshnessPolicy.cron(MORNING_DEADLINE, MORNING_SLACK)}
"""The freshness policy of each asset. The knowledge base has none: without changes, it is not published."""


def build_schedules(settings: Settings, jobs: Mapping[str, Job]) -> list[dg.ScheduleDefinition]:
    """Return every schedule; raises SettingsError when `nightly` is not a cron line."""
    namespace = Namespace(settings.namespace)
    try:
        at_night = dg.schedule(
            name=namespace.named("nightly"),
            cron_schedule=settings.nightly,
            job=jobs["ingest"],
            description="Ingests every source with changed files or chunks to ask about again; rows of "
            "another recipe wait for a backfill. Stopped until it is started by hand, since it may cost money.",
        )(namespace.bound(nightly))
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(
            f"setting nightly: {settings.nightly!r} is not a cron line; write one like '0 2 * * *'"
        ) from error
    morning = dg.ScheduleDefinition(
        name=namespace.named("morning"),
        cron_schedule=MORNING,
        job=jobs["report"],
        tags={COMMAND_TAG: "morning"},
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Reports the published, pending, rejected and outdated data of each source.",
    )
    return [one for one in (at_night, morning) if is_wanted(namespace.without(one.name), settings)]


def nightly(
    context: dg.ScheduleEvaluationContext, lightrag: dg.ResourceParam[LightRAG]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run for each source with pending work, and remove what no scope shows any more.

    A run that waits in Dagster's queue, perhaps since the last night, reads its source as it is when it begins. After a
    backfill, which would put its earlier reading in place of that of the night, the next night looks.
    """
    night = context.scheduled_execution_time.isoformat()
    namespace = Namespace(lightrag.settings.namespace)
    waiting = dg.RunsFilter(job_name=namespace.named("ingest"), statuses=[dg.DagsterRunStatus.QUEUED])
    backfills = dg.RunsFilter(
        job_name=namespace.named("backfill"), statuses=UNDER_WAY, updated_after=datetime.now(UTC) - HANGS
    )
    runs = [*context.instance.get_runs(waiting), *context.instance.get_runs(backfills)]
    known = set(context.instance.get_dynamic_partitions(namespace.partitions))
    known -= {run.tags.get("dagster/partition", "") for run in runs}
    seconds = look_seconds()
    look_upstream(context.instance, lightrag.settings)
    for line in tidy_scopes(lightrag.settings):
        context.log.info(line)
    due = sources_to_ingest(lightrag.settings, known, seconds)
    if due.slow:
        why = f"not listed within {seconds:g} s, so that their runs find out what changed"
        context.log.warning(f"{why}: {', '.join(due.slow)}")
    return requests_of(due, night, seconds) or dg.SkipReason("nothing changed in any source")


def look_seconds() -> float:
    """Return the time that a tick may look at the sources: two thirds of Dagster's limit, a minute by default."""
    given = (os.environ.get(name) for name in TICK_VARIABLES)
    return float(next(filter(None, given), DEFAULT_TICK_SECONDS)) * 2 / 3


class Due(NamedTuple):
    """The sources that the nightly run ingests: those that `changed`, and those too `slow` to list."""

    changed: list[str]
    slow: list[str]


def requests_of(due: Due, night: str, seconds: float) -> list[dg.RunRequest]:
    """Return a run for each source that is due, once a night; a tag marks those without a known change."""
    ours = {COMMAND_TAG: "nightly"}
    slow = ours | {SLOW_TAG: f"not listed within {seconds:g} s"}
    tags = dict.fromkeys(due.changed, ours) | dict.fromkeys(due.slow, slow)
    return [dg.RunRequest(partition_key=name, run_key=f"{name} {night}", tags=own) for name, own in tags.items()]


def sources_to_ingest(settings: Settings, partitions: AbstractSet[str], seconds: float | None = None) -> Due:
    """Return the sources, among those that are partitions already, that the nightly run ingests.

    A source that cannot be listed, or is gone, is one of them: its run fails with the reason. So is one that was not
    listed within the seconds: its run lists it, and ends soon without changes. One that waits for batches is left to
    the sensor `batches`.
    """
    situation = Situation.looking(settings)
    states = look_at_sources(situation, seconds)
    note_looks(situation.home, states.values())
    changed = [
        name
        for name, state in states.items()
        if name in partitions and (state.ingest or state.problem) and not state.waits
    ]
    changed += [name for name in situation.absent if name in partitions]
    slow = (name for name in situation.sources if name in partitions and name not in states)
    return Due(changed, list(slow))
