"""What Dagster does by itself, one module a concern; `values` holds the numbers."""

import dagster as dg

from assets.automation.batches import batches
from assets.automation.conditions import conditions, downstream
from assets.automation.failures import record_failures
from assets.automation.ingestion import nightly_schedule
from assets.automation.publication import publish_accepted
from assets.automation.reconciliation import reconcile
from assets.automation.report import FRESHNESS, morning
from assets.automation.sources import source_partitions
from lightrag_dagster.settings import Settings

SENSORS = [source_partitions, batches, reconcile, publish_accepted, downstream, record_failures]

__all__ = ["FRESHNESS", "SENSORS", "conditions", "schedules"]


def schedules(settings: Settings) -> list[dg.ScheduleDefinition]:
    """Return every schedule; raises SettingsError when `nightly` is no cron line."""
    return [nightly_schedule(settings.nightly), morning]
