"""The sensors and conditions: automation by events.

The sensors compare records in the home, through `pipeline.pending`, since Dagster's event log knows neither removed
partitions nor accepted versions. Assets downstream of the knowledge base follow its content by conditions.
"""

import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from lightrag_dagster.assets import INGESTION, PUBLICATION, alerts
from lightrag_dagster.assets.alerts import WEBHOOK_VARIABLE
from lightrag_dagster.assets.history import prune_daily
from lightrag_dagster.assets.jobs import JOBS, Job, is_wanted
from lightrag_dagster.assets.knowledge_base import report_published
from lightrag_dagster.assets.metadata import ACCOUNT_TAG, COMMAND_TAG, REASON
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.partitions import keep_in_step, sign
from lightrag_dagster.assets.runs import building_under_way, end_orphans, is_of
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.pending import to_accept
from lightrag_dagster.pipeline.scopes import pending_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.looks import DAEMON, KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.snapshots.snapshots import without_graph

CHECK_SECONDS = 60
"""Often enough for new folders and for publication: a merge takes longer than this."""

FAILURE_CHECK_SECONDS = 30
"""A failure is worth a message within two minutes, by the next tick of `publish_accepted`."""

CONDITION_CHECK_SECONDS = 30
"""As often as Dagster evaluates conditions by default."""

BATCH_CHECK_SECONDS = 300
"""A batch takes minutes at least and a day at most, so that five minutes more are nothing, and polite."""

RETRY_SECONDS = 1800
"""Passing failures have mostly passed after this time, and the runs page stays readable."""

FOLLOWS_DATA = (
    dg.AutomationCondition.eager()
    .replace("any_deps_updated", dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed()))
    .with_label("follows data versions")
)
"""`eager`, but for what is made again with the same content, at which that fires too. `code_version_changed` is left
out on purpose: it would make everything again, and pay for it, at the first tick after a prompt was edited."""

_FAILURES_KEPT = 1000

_log = logging.getLogger(__name__)


CONDITIONS = dict.fromkeys(("answers", "retrieval_evaluation", "extraction_evaluation"), FOLLOWS_DATA)
"""The automation condition of each asset that has one."""


_SENSORS = {
    "source_partitions": (CHECK_SECONDS, "Keeps the partitions in step with the configured sources."),
    "batches": (
        BATCH_CHECK_SECONDS,
        "Polls the open batches at the language model's provider, and runs the ingestion or backfill of each "
        "source whose batches are done: it stores their responses, and submits the next requests.",
    ),
    "publish_accepted": (
        CHECK_SECONDS,
        "Merges and publishes when the accepted versions of the sources, or the sources themselves, are no longer "
        "those of the newest snapshot, or scopes not what the settings say, and no ingestion, backfill or publication "
        "is running. Builds the graph of the published snapshot if it is missing.",
    ),
    "downstream": (
        CONDITION_CHECK_SECONDS,
        "Rebuilds assets downstream of the knowledge base when another snapshot is published.",
    ),
    "record_failures": (
        FAILURE_CHECK_SECONDS,
        "Adds each failed run to failures.jsonl in the home, which keeps the last 1,000 at least, and tells of it by a "
        f"message to the address in {WEBHOOK_VARIABLE}, if there is one: for each cause, when something starts to "
        "fail, and daily while it does.",
    ),
    "record_failed_checks": (
        FAILURE_CHECK_SECONDS,
        "Does the same for each failed check of a run, such as `accepted`, and tells when what failed works again.",
    ),
}
"""The interval of each sensor, in seconds, and its description."""


def build_sensors(settings: Settings, jobs: Mapping[str, Job]) -> list[dg.SensorDefinition]:
    """Return the wanted sensors, all of them running at first."""
    namespace = Namespace(settings.namespace)

    def common(name: str) -> dict[str, Any]:
        seconds, description = _SENSORS[name]
        return {
            "name": namespace.named(name),
            "minimum_interval_seconds": seconds,
            "default_status": dg.DefaultSensorStatus.RUNNING,
            "description": description,
        }

    downstream = dg.AssetSelection.groups(namespace.named("downstream"))
    success, bound = dg.DagsterRunStatus.SUCCESS, namespace.bound
    sensors = [
        dg.sensor(job=jobs["ingest"], **common("source_partitions"))(bound(source_partitions)),
        dg.sensor(jobs=[jobs["ingest"], jobs["backfill"]], **common("batches"))(bound(batches)),
        dg.sensor(job=jobs["publish"], **common("publish_accepted"))(bound(publish_accepted)),
        dg.AutomationConditionSensorDefinition(target=downstream, **common("downstream")),
        dg.run_failure_sensor(**common("record_failures"))(bound(record_failures)),
        dg.run_status_sensor(run_status=success, **common("record_failed_checks"))(bound(record_failed_checks)),
    ]
    return [one for one in sensors if is_wanted(namespace.without(one.name), settings)]


def source_partitions(context: dg.SensorEvaluationContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.SkipReason:
    """Add a partition for each new source, and delete that of each source that is gone, unless it is withheld.

    Raises:
        StoreError: the partitions are those of another home.
    """
    sign(context.instance, Namespace(lightrag.settings.namespace), lightrag.home)
    if not is_wanted("publish_accepted", lightrag.settings):  # which tells elsewhere
        alerts.tell(context.instance, alerts.place_of(lightrag), idle=False)
    keep_in_step(context.instance, Situation.looking(lightrag.settings))
    return dg.SkipReason("each source has a partition")


def batches(
    context: dg.SensorEvaluationContext, lightrag: dg.ResourceParam[LightRAG]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run for each source whose batches are done, paid for by the run that submitted them."""
    settings, home = lightrag.settings, lightrag.home
    if not (settings.llm.by_batch and home.may_have_batches):
        return dg.SkipReason("nothing was submitted by batch")
    from lightrag_dagster.models.batch.waiting import poll_batches

    due = run_sync(poll_batches(settings.llm, home))
    namespace = Namespace(settings.namespace)
    partitions = set(context.instance.get_dynamic_partitions(namespace.partitions))
    requests = [
        dg.RunRequest(
            job_name=namespace.named("backfill" if waiting.backfill else "ingest"),
            partition_key=waiting.source,
            run_key=_run_key(namespace, f"{waiting.source} {digest(waiting.backfill, states)}"),
            tags={COMMAND_TAG: "batches", ACCOUNT_TAG: waiting.run},
        )
        for waiting, states in due.items()
        if waiting.source in partitions
    ]
    return requests or dg.SkipReason("every waiting extraction has open batches")


def publish_accepted(
    context: dg.SensorEvaluationContext, lightrag: dg.ResourceParam[LightRAG]
) -> dg.RunRequest | dg.SkipReason:
    """Compare records of the home; a missing source counts as a change, and a missing graph too.

    As the sensor of what was published, it also reports a release or rollback, and prunes the history of runs, once a
    day.
    """
    asked = _publication(context, lightrag)
    Looks(lightrag.home.ledger).good([DAEMON])  # a tick that fails is no sign of life
    return asked


def _publication(context: dg.SensorEvaluationContext, lightrag: LightRAG) -> dg.RunRequest | dg.SkipReason:
    namespace = Namespace(lightrag.settings.namespace)
    sign(context.instance, namespace, lightrag.home)
    builds = not end_orphans(context.instance, lightrag.home, namespace)
    if pruned := prune_daily(context.instance, lightrag.home, namespace, lightrag.settings.retention):
        context.log.info(pruned)
    waiting = building_under_way(context.instance, namespace) or builds
    alerts.tell(context.instance, alerts.place_of(lightrag), idle=not waiting)
    if waiting:
        return dg.SkipReason(f"waiting for {'another process that builds' if builds else 'unfinished runs'}")
    situation = Situation.looking(lightrag.settings)
    report_published(context.instance, situation)
    newest = situation.newest
    selection = None
    if acceptable := to_accept(situation):  # the merge accepts them
        wanted = f"accepting {digest(acceptable)}"
    elif said := _to_merge(situation):
        wanted = said
    elif due := pending_scopes(situation):
        wanted = f"scopes {digest(sorted(due), lightrag.settings.scopes)}"
    elif lightrag.settings.builds_graph and (generation := without_graph(lightrag.home)):
        wanted, selection = f"graph of {generation.id}", [namespace.key("published_graph")]
    else:
        return dg.SkipReason("the newest snapshot holds all accepted versions" if newest else "nothing is accepted yet")
    # After another snapshot it is a new request, as where a document is deleted and restored.
    snapshots = (one and one.sequence for one in (newest, situation.published))
    wanted = f"{wanted} {digest(*snapshots)}"
    tags = {COMMAND_TAG: "publish", ACCOUNT_TAG: digest(wanted)}  # all attempts have one budget
    return dg.RunRequest(run_key=_run_key(namespace, wanted), asset_selection=selection, tags=tags)


def _to_merge(situation: Situation) -> str | None:
    """Return a text that says what is to be merged, if something is; else note that KNOWLEDGE_BASE is good."""
    try:
        wanted = next_publication(situation)
    except DecisionError as error:  # the run's check says which decisions, and the failure is told
        return digest(str(error))
    if wanted is None or not wanted.sources:
        Looks(situation.home.ledger).good([KNOWLEDGE_BASE])
        return None
    return wanted.hash


def _run_key(namespace: Namespace, wanted: str) -> str:
    """Return the key of a run for what is wanted; Dagster launches no second run of a sensor for one key."""
    return f"{namespace.named(wanted)} {int(time.time() // RETRY_SECONDS)}"


def record_failures(context: dg.RunFailureSensorContext, lightrag: dg.ResourceParam[LightRAG]) -> None:
    """Record one failed run of this knowledge base, and tell of it."""
    if not _is_ours(context, lightrag):
        return
    errors = [_told(check) for check in _failed_checks(context.instance, context.dagster_run)]
    errors += [
        f"{event.step_key}: {(error.cause or error).message}"
        for event in context.get_step_failure_events()
        if (error := event.step_failure_data.error)
    ]
    logged = context.instance.all_logs(context.dagster_run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
    found = (entry.get_dagster_event().engine_event_data.error for entry in logged)  # as where no job can be loaded
    errors += [(error.cause or error).message for error in found if error]
    _record(lightrag, context, [*errors[:1], context.failure_event.message or "no reason was given"][0])


def record_failed_checks(context: dg.RunStatusSensorContext, lightrag: dg.ResourceParam[LightRAG]) -> None:
    """Record the checks of one run that failed with severity ERROR, and tell of them, or of a recovery."""
    if not _is_ours(context, lightrag):
        return
    failed = list(_failed_checks(context.instance, context.dagster_run))
    for check in failed:
        _record(lightrag, context, _told(check))
    subject = _subject(lightrag, context)
    chosen = context.dagster_run.asset_selection or ()
    namespace = Namespace(lightrag.settings.namespace)
    last = namespace.key("entity_mentions" if subject.source else "knowledge_base")
    if not failed and (last in chosen or subject.job == namespace.without(context.dagster_run.job_name)):
        alerts.recovered(context.instance, [subject], context.dagster_run.run_id)
    for check in _failed_checks(context.instance, context.dagster_run, dg.AssetCheckSeverity.WARN):
        if check.check_name == "gates" and (waits := check.metadata.get(REASON)):
            problem = alerts.post([subject], context.dagster_run.run_id, str(waits.value))
            if problem and os.environ.get(WEBHOOK_VARIABLE):  # it is posted once, so that the tick has to show it
                raise dg.Failure(f"the message that {waits.value} was not delivered: {problem}")


def _told(check: dg.AssetCheckEvaluation) -> str:
    reason = check.metadata.get(REASON)
    name = f"check {check.check_name} of {check.asset_key.to_user_string()}"
    return f"{name}: {reason.value if reason else check.description or 'it failed'}"


def _is_ours(context: dg.RunStatusSensorContext, lightrag: LightRAG) -> bool:
    """Say whether a run is of this knowledge base, and not of its project's other jobs."""
    return is_of(context.instance, Namespace(lightrag.settings.namespace), context.dagster_run)


def _subject(lightrag: LightRAG, context: dg.RunStatusSensorContext) -> alerts.Subject:
    """Return what a run is about; one of chosen assets, as by *Materialize*, does the work of one of our jobs."""
    namespace, run = Namespace(lightrag.settings.namespace), context.dagster_run
    job, building = namespace.without(run.job_name), [*INGESTION, *PUBLICATION]
    if run.asset_selection and job not in JOBS and is_of(context.instance, namespace, run, building):
        job = "ingest" if context.partition_key else "publish"
    return alerts.Subject(alerts.place_of(lightrag), job, context.partition_key)


def _failed_checks(
    instance: dg.DagsterInstance, run: dg.DagsterRun, severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR
) -> Iterable[dg.AssetCheckEvaluation]:
    kinds = {dg.DagsterEventType.ASSET_CHECK_EVALUATION}
    for entry in instance.all_logs(run.run_id, of_type=kinds):
        evaluation = entry.get_dagster_event().asset_check_evaluation_data
        if not evaluation.passed and evaluation.severity is severity:
            yield evaluation


def _record(lightrag: LightRAG, context: dg.RunStatusSensorContext, error: str) -> None:
    run, home = context.dagster_run, lightrag.home
    record = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "run_id": run.run_id,
        "job": run.job_name,
        "source": context.partition_key,
        "error": " ".join(error.split()),
    }
    _log.error("run %s of job %s failed: %s", run.run_id, run.job_name, record["error"])
    home.failures.parent.mkdir(parents=True, exist_ok=True)
    with home.failures.open("a", encoding="utf-8") as lines:  # so that two sensors lose no line of each other
        lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    found = home.failures.read_text(encoding="utf-8").splitlines(keepends=True)
    if len(found) > 2 * _FAILURES_KEPT:
        atomic.write_text(home.failures, "".join(found[-_FAILURES_KEPT:]))
    alerts.failed(context.instance, _subject(lightrag, context), run.run_id, str(record["error"]))
