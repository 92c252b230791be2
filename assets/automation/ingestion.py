"""The nightly schedule: one run for each source of which something is stale."""

import logging
from collections.abc import Set

import dagster as dg

from assets.automation.reconciliation import AUTOMATIC
from lightrag_dagster.build.staleness import first_stale
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.listing import list_files, listing_signature
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables

_DESCRIPTION = (
    "Ingests every source of which files changed or chunks wait to be asked about again; what edited prompts or "
    "settings would make otherwise waits for a backfill. Stopped until somebody starts it, since it may cost money."
)
_log = logging.getLogger(__name__)


def nightly_schedule(cron: str) -> dg.ScheduleDefinition:
    """Return the schedule `nightly`; raises SettingsError when `cron` is no cron line."""

    def nightly(
        context: dg.ScheduleEvaluationContext, settings: dg.ResourceParam[Settings]
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """Request a run for each stale source."""
        stale = stale_sources(settings, set(context.instance.get_dynamic_partitions("source")))
        night = context.scheduled_execution_time.isoformat()
        requests = [dg.RunRequest(partition_key=name, run_key=f"{name} {night}", tags=AUTOMATIC) for name in stale]
        return requests or dg.SkipReason("nothing changed in any source")

    try:
        return dg.schedule(cron_schedule=cron, job_name="ingest", description=_DESCRIPTION)(nightly)
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(f"setting nightly: {cron!r} is no cron line; write one like '0 2 * * *'") from error


def stale_sources(settings: Settings, partitions: Set[str]) -> list[str]:
    """Return the sources, of those that are partitions already, that a run would do something for.

    One that cannot be listed is left out, so that it holds up none of the others; its next run says what is wrong. One
    that waits for batches is left to the sensor `batches`.
    """
    home, versions = Home(settings.home), Versions.of(settings)
    tables, waiting = SourceTables(home), sources_that_wait(settings.llm, home)
    stale = []
    for name, source in find_sources(settings).items():
        if name not in partitions or name in waiting:
            continue
        try:
            signature = listing_signature(list_files(source))
        except SourceError as error:
            _log.warning("%s", error)
            continue
        if first_stale(tables, name, signature, versions):
            stale.append(name)
    return stale
