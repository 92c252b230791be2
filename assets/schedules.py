"""What Dagster does at fixed times."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg

from assets.metadata import MAX_RUNTIME
from assets.namespace import Namespace
from lightrag_dagster.build.pending import pending
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import Settings
from resources import LightRAG

if TYPE_CHECKING:
    from assets.jobs import Job

MORNING = "0 6 * * *"
"""The report is made when the night's runs have ended and before the first person asks how they went."""

MORNING_DEADLINE = "0 7 * * *"
"""An hour later the report is overdue: the daemon was not running."""

MORNING_SLACK = timedelta(hours=2)
"""A report made after five counts for this morning, so that the clock of a slow night does not matter."""

FRESHNESS = {"status_report": dg.FreshnessPolicy.cron(MORNING_DEADLINE, MORNING_SLACK)}
"""Asset → by when it must have been made. The knowledge base has none: where nothing changes, nothing is published."""


def build_schedules(settings: Settings, jobs: "Mapping[str, Job]") -> list[dg.ScheduleDefinition]:
    """Return every schedule; raises SettingsError when `nightly` is no cron line."""
    namespace = Namespace(settings.namespace)
    try:
        at_night = dg.schedule(
            name=namespace.named("nightly"),
            cron_schedule=settings.nightly,
            job=jobs["ingest"],
            description="Ingests every source of which files changed or chunks are to be asked about again; rows of "
            "another recipe wait for a backfill. Stopped until it is started by hand, since it may cost money.",
        )(nightly)
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(
            f"setting nightly: {settings.nightly!r} is no cron line; write one like '0 2 * * *'"
        ) from error
    morning = dg.ScheduleDefinition(
        name=namespace.named("morning"),
        cron_schedule=MORNING,
        job=jobs["report"],
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Reports what of each source is published, pending or rejected, and what is outdated.",
    )
    return [at_night, morning]


def nightly(
    context: dg.ScheduleEvaluationContext, lightrag: dg.ResourceParam[LightRAG]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run for each source of which something is pending."""
    night = context.scheduled_execution_time.isoformat()
    known = set(context.instance.get_dynamic_partitions(Namespace(lightrag.settings.namespace).partitions))
    names = sources_to_ingest(lightrag.settings, known)
    requests = [dg.RunRequest(partition_key=name, run_key=f"{name} {night}", tags=MAX_RUNTIME) for name in names]
    return requests or dg.SkipReason("nothing changed in any source")


def sources_to_ingest(settings: Settings, partitions: AbstractSet[str]) -> list[str]:
    """Return the sources, of those that are partitions already, that the nightly run ingests.

    A source that cannot be listed is one of them: its run fails and says why. One that waits for batches is left to the
    sensor `batches`.
    """
    return [
        name
        for name, state in pending(settings).sources.items()
        if name in partitions and (state.ingest or state.problem) and False not in state.waiting
    ]
