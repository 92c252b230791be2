"""What Dagster does by itself, one module a concern; `values` holds the numbers."""

from lightrag_dagster.automation.batches import batches
from lightrag_dagster.automation.ingestion import nightly
from lightrag_dagster.automation.publication import publish_accepted
from lightrag_dagster.automation.sources import source_partitions

SCHEDULES = [nightly]
SENSORS = [source_partitions, batches, publish_accepted]

__all__ = ["SCHEDULES", "SENSORS"]
