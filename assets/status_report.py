"""`status_report`: the published, pending, rejected and outdated rows of each source."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from lightrag_dagster.assets.declared import LLM_POOL, WRITER_POOL, all_of, asset
from lightrag_dagster.assets.metadata import COMMAND_TAG, REASON, evaluation, last_made, materialised, stopwatch
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.outdated import judged_outdated
from lightrag_dagster.assets.upstream import look_upstream
from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.safe_markdown import cell, escaped, markdown_table
from lightrag_dagster.pipeline.pending import PUBLISHED, WAITS_FOR_RELEASE, Pending, pending
from lightrag_dagster.pipeline.scopes import require_undamaged
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.spending.ledger import Ledger

VERIFYING_DAY = 6
"""Sunday, when every published file is read."""


@asset(
    deps=all_of("extractions"),
    group_name="operations",
    kinds={"python"},
    description="The unpublished data of each source with the reason, and the numbers of rows made with older prompts, "
    "models or settings.",
)
def status_report(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Report the pending work; on Sunday mornings, raise StoreError if a published file is damaged on its disk."""
    if context.run.tags.get(COMMAND_TAG) == "morning" and datetime.now(UTC).weekday() == VERIFYING_DAY:
        require_undamaged(lightrag.settings)
    with stopwatch() as watch:
        look_upstream(context.instance, lightrag.settings)
        states = pending(Situation.looking(lightrag.settings))
        costs = Ledger(lightrag.home.ledger).costs(["month"])
        _log_outdated(context, lightrag, states)
    advice = lacking(context.instance, Namespace(lightrag.settings.namespace))
    for line in advice:
        context.log.info(line)
    return report(states, watch.seconds, costs, advice)


def lacking(instance: dg.DagsterInstance, namespace: Namespace) -> list[str]:
    """Return advice on what an instance lacks: limits of our pools, in its file or database, and an eye on runs."""
    storage, advice = instance.event_log_storage, []
    if instance.get_concurrency_config().pool_config.default_pool_limit is None:
        known = storage.get_pool_limits() if storage.supports_global_concurrency_limits else ()
        limited = {limit.name for limit in known}
        advice = [
            f"pool {pool} has no limit, so that its steps wait for locks, each in a process: run "
            f"`dagster instance concurrency set {pool} 1`, once"
            for pool in map(namespace.named, (LLM_POOL, WRITER_POOL))
            if pool not in limited
        ]
    if not instance.run_monitoring_enabled:
        advice.append("dagster.yaml has no `run_monitoring: {enabled: true}`: a run that hangs is never ended")
    return advice


def _log_outdated(context: dg.AssetExecutionContext, lightrag: LightRAG, states: Pending) -> None:
    """Log the check `outdated` of partitions with such rows: after an edit of a prompt, no ingestion does."""
    namespace = Namespace(lightrag.settings.namespace)
    known = set(context.instance.get_dynamic_partitions(namespace.partitions))
    sources = [name for name, state in states.sources.items() if state.outdated and name in known]
    key = namespace.key("extractions")
    for source, result in judged_outdated(lightrag, sources, False).items() if sources else ():
        made = last_made(context.instance, key, source)
        context.log_event(evaluation(key, "outdated", source, result, made))


def report(
    states: Pending, seconds: float, costs: Sequence[Mapping[str, Any]] = (), advice: Sequence[str] = ()
) -> dg.MaterializeResult:
    """Return what is shown of pending work, which it took some seconds to find, of `costs`, and of the instance."""
    shown = {name: [str(state), dict(state.outdated)] for name, state in states.sources.items()}
    month = f"{datetime.now(UTC):%Y-%m}"
    metadata = {
        "sources": dg.MetadataValue.md(_table(states)),
        "rejected": len(states.rejected),
        "outdated_rows": sum(sum(state.outdated.values()) for state in states.sources.values()),
        "outdated_of_knowledge_base": ", ".join(states.outdated),
        "graph": states.graph,
        "losses": [str(loss) for loss in states.losses],
        "warnings": states.warnings,
        "seconds": seconds,
        "cost_usd_this_month": round(sum(row["cost_usd"] for row in costs if row["month"] == month), 6),
        "cost_usd": round(sum(row["cost_usd"] for row in costs), 6),
        **({"instance": list(advice)} if advice else {}),
    }
    return materialised(digest(shown, states.outdated, states.graph == "not built yet"), metadata)


def all_published(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Check that all sources are published, and give reasons; a rejected one is an error."""
    states = pending(Situation.looking(lightrag.settings))
    done = (PUBLISHED, WAITS_FOR_RELEASE)  # a rollback is a decision
    unpublished = {name: str(state) for name, state in states.sources.items() if str(state) not in done}
    severity = dg.AssetCheckSeverity.ERROR if states.rejected else dg.AssetCheckSeverity.WARN
    reason = "; ".join(states.rejected.values())
    return dg.AssetCheckResult(
        passed=not unpublished,
        severity=severity,
        description=escaped(reason) or None,
        metadata=unpublished | ({REASON: reason} if reason else {}),
    )


def _table(states: Pending) -> str:
    """Return a Markdown table, one row per source."""
    rows = []
    for name, state in states.sources.items():
        counts = (state.documents, state.chunks, state.outdated)
        found = [name, str(state), *(", ".join(f"{rows} {of}" for of, rows in one.items()) for one in counts)]
        rows.append([cell(one) for one in found])
    return markdown_table(["source", "state", "documents", "chunks", "outdated rows"], rows)
