"""What happens when a run of the daemon fails: a line in the log, a record in the home, a message if asked for."""

import json
import logging
import os
from datetime import UTC, datetime

import dagster as dg

from assets.automation.values import FAILURE_CHECK_SECONDS, WEBHOOK_SECONDS
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home

WEBHOOK_VARIABLE = "LIGHTRAG_FAILURE_WEBHOOK"
"""The address may hold a key, so it is no setting: it is read when it is used, and never logged."""

_log = logging.getLogger(__name__)


@dg.run_failure_sensor(
    name="record_failures",
    minimum_interval_seconds=FAILURE_CHECK_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Appends each failed run to failures.jsonl in the home, and posts the same record to the address in "
    f"{WEBHOOK_VARIABLE}, if there is one.",
)
def record_failures(context: dg.RunFailureSensorContext, settings: dg.ResourceParam[Settings]) -> None:
    """Record one failed run."""
    run = context.dagster_run
    record = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "run_id": run.run_id,
        "job": run.job_name,
        "source": context.partition_key,
        "error": _reason(context),
    }
    _log.error("run %s of job %s failed: %s", run.run_id, run.job_name, record["error"])
    file = Home(settings.home).failures
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    _post(record)


def _reason(context: dg.RunFailureSensorContext) -> str:
    for event in context.get_step_failure_events():
        error = event.step_failure_data.error
        if error is not None:
            return f"{event.step_key}: {' '.join((error.cause or error).message.split())}"
    return " ".join((context.failure_event.message or "no reason was given").split())


def _post(record: dict[str, str | None]) -> None:
    address = os.environ.get(WEBHOOK_VARIABLE)
    if not address:
        return
    import httpx2

    try:
        httpx2.post(address, json=record, timeout=WEBHOOK_SECONDS).raise_for_status()
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        _log.warning("the message about run %s was not delivered: %s", record["run_id"], type(error).__name__)
