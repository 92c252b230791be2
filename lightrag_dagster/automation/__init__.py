"""What Dagster does by itself, one module a concern; `values` holds the numbers."""

import dagster as dg

from lightrag_dagster.automation.batches import batches
from lightrag_dagster.automation.conditions import conditions, downstream
from lightrag_dagster.automation.failures import record_failures
from lightrag_dagster.automation.ingestion import nightly_schedule
from lightrag_dagster.automation.publication import publish_accepted
from lightrag_dagster.automation.reconciliation import reconcile
from lightrag_dagster.automation.report import FRESHNESS, morning
from lightrag_dagster.automation.sources import source_partitions
from lightrag_dagster.settings import Settings

SENSORS = [source_partitions, batches, reconcile, publish_accepted, downstream, record_failures]

__all__ = ["FRESHNESS", "SENSORS", "conditions", "schedules"]


def schedules(settings: Settings) -> list[dg.ScheduleDefinition]:
    """Return every schedule; raises SettingsError when `nightly` is no cron line."""
    return [nightly_schedule(settings.nightly), morning]
