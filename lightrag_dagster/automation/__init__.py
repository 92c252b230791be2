"""What Dagster does by itself, one module a concern; `values` holds the numbers."""

from lightrag_dagster.automation.sources import source_partitions

SENSORS = [source_partitions]

__all__ = ["SENSORS"]
