"""The morning report: made every day, so that its absence says that nothing ran."""

import dagster as dg

from assets.automation.values import MORNING, MORNING_DEADLINE, MORNING_SLACK

FRESHNESS = {"drift_report": dg.FreshnessPolicy.cron(MORNING_DEADLINE, MORNING_SLACK)}
"""Asset → by when it must have been made. The knowledge base has none: where nothing changes, nothing is published."""

morning = dg.ScheduleDefinition(
    name="morning",
    cron_schedule=MORNING,
    job_name="report",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Reports what of each source is published, pending or drifted, and what a backfill would cost.",
)
