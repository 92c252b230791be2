"""`drift_report`: what of each source is published, pending or drifted, and what a backfill would cost."""

from collections.abc import Sequence

import dagster as dg

from assets.metadata import OWNERS, Metadata, stopwatch
from lightrag_dagster.build.inheritance import drifted_parts
from lightrag_dagster.build.plan import Plan
from lightrag_dagster.build.states import PUBLISHED, SourceState, backfill_plan, source_states
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import Settings


@dg.asset(
    deps=[dg.AssetDep("extractions", partition_mapping=dg.AllPartitionMapping())],
    group_name="operations",
    kinds={"python"},
    owners=OWNERS,
    description="What was made with other prompts, models or settings than today's, what a backfill of it would cost, "
    "and what of each source is not published yet.",
    check_specs=[
        dg.AssetCheckSpec(
            "all_published",
            asset="drift_report",
            description="Every source is published as its files are now; drift does not count.",
        )
    ],
)
def drift_report(settings: dg.ResourceParam[Settings]) -> dg.MaterializeResult:
    """Compare what every table was made with, and from, with what it would be now."""
    with stopwatch() as watch:
        states = source_states(settings)
        plan, parts = backfill_plan(settings, states), drifted_parts(Versions.of(settings))
        anew = plan.remaking if plan else None
    pending = {one.source: one.state for one in states if one.state != PUBLISHED}
    metadata: Metadata = {
        "sources": dg.MetadataValue.md(_table(states, plan)),
        "drifted": sum(bool(one.drifted) for one in states),
        "chunks_to_ask_about": sum(source.chunks_new for source in plan.sources) if plan else 0,
        "drifted_of_knowledge_base": ", ".join(parts),
        "summaries_to_make_at_most": anew.summary_calls.high if anew else 0,
        "tokens_to_embed_at_most": anew.embedding_tokens.high if anew else 0,
        "backfill_cost_usd_low": plan.total.low if plan else 0.0,
        "backfill_cost_usd_high": plan.total.high if plan else 0.0,
        "seconds": watch.seconds,
    }
    return dg.MaterializeResult(
        data_version=dg.DataVersion(digest([[one.source, one.state, one.drifted] for one in states], parts)),
        metadata=metadata,
        check_results=[
            dg.AssetCheckResult(
                check_name="all_published", passed=not pending, severity=dg.AssetCheckSeverity.WARN, metadata=pending
            )
        ],
    )


def _table(states: Sequence[SourceState], plan: Plan | None) -> str:
    """Return a Markdown table, one row a source."""
    planned = {source.source: source for source in plan.sources} if plan else {}
    lines = ["| source | state | drifted tables | chunks to ask about |", "| --- | --- | --- | --- |"]
    for one in states:
        chunks = str(planned[one.source].chunks_new) if one.source in planned else ""
        lines.append(f"| {one.source} | {one.state} | {', '.join(one.drifted)} | {chunks} |")
    return "\n".join(lines)
