"""Keeping the partitions in step with the configured sources."""

import dagster as dg

from assets.automation.values import SOURCE_CHECK_SECONDS
from assets.partitions import SOURCES
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import find_sources


@dg.sensor(
    name="source_partitions",
    minimum_interval_seconds=SOURCE_CHECK_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Keeps the partitions in step with the configured sources.",
)
def source_partitions(context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]) -> dg.SensorResult:
    """Add a partition for each new source and delete that of each source that is gone."""
    wanted, known = set(find_sources(settings)), set(context.instance.get_dynamic_partitions("source"))
    requests = [SOURCES.build_add_request(sorted(wanted - known))] if wanted - known else []
    removals = [SOURCES.build_delete_request(sorted(known - wanted))] if known - wanted else []
    return dg.SensorResult(dynamic_partitions_requests=[*requests, *removals])
