"""What Dagster does by itself, one module a concern; `values` holds the numbers."""

from lightrag_dagster.automation.conditions import conditions, downstream
from lightrag_dagster.automation.failures import record_failures
from lightrag_dagster.automation.ingestion import nightly
from lightrag_dagster.automation.publication import publish_accepted
from lightrag_dagster.automation.reconciliation import reconcile
from lightrag_dagster.automation.report import FRESHNESS, morning
from lightrag_dagster.automation.sources import source_partitions

SCHEDULES = [nightly, morning]
SENSORS = [source_partitions, reconcile, publish_accepted, downstream, record_failures]

__all__ = ["FRESHNESS", "SCHEDULES", "SENSORS", "conditions"]
