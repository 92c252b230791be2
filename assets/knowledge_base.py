"""`knowledge_base`: the published snapshot, and its check."""

from collections.abc import Callable

import dagster as dg

from lightrag_dagster.assets.declared import WRITER_POOL, asset
from lightrag_dagster.assets.metadata import REASON, BuildConfig, Metadata, account_of, materialised, stopwatch, warned
from lightrag_dagster.assets.namespace import DATA_VERSION, Namespace
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.core.text.safe_markdown import escaped
from lightrag_dagster.pipeline.inputs import failed_summaries
from lightrag_dagster.pipeline.publish import check_published, publish_newest
from lightrag_dagster.pipeline.retention import collect_after_publication
from lightrag_dagster.pipeline.scopes import EMPTY, ScopeState, empty_scopes, pending_scopes, publish_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VECTOR_TABLES, Manifest
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import previous_snapshot, require_published


@asset(
    deps=[*MERGED_TABLES, *VECTOR_TABLES, "knowledge_graph"],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"parquet", "duckdb"},
    description="The manifest that names one version of every table and store; readers see it whole or not at all.",
)
def knowledge_base(
    context: dg.AssetExecutionContext, config: BuildConfig, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Publish the newest generation, unless it breaks an invariant; the data version is what readers open."""
    home, looks = lightrag.home, Looks(lightrag.home.ledger)
    with stopwatch() as watch, logged(context, lightrag), looks.noting(KNOWLEDGE_BASE):
        manifest = publish_newest(lightrag.settings)
        looks.good([KNOWLEDGE_BASE])
        collected = collect_after_publication(home, lightrag.settings.retention)
        now = Situation.looking(lightrag.settings)
        account = account_of(context, lightrag.settings)
        scopes = publish_scopes(now, account, backfill=config.backfill)
    if collected is not None:
        context.log.info(str(collected))
    metadata = {
        "snapshot_id": manifest.snapshot_id,
        "sequence": manifest.sequence,
        "left_out": sorted(now.sources.keys() - manifest.inputs.sources.keys()),
        "run_cost_usd": Ledger(home.ledger).spent(account.run),
        "seconds": watch.seconds,
        **({"gc": str(collected), "gc_bytes": collected.bytes_removed} if collected else {}),
        **{f"difference/{rows}": str(counts) for rows, counts in manifest.gates.difference.items()},
        **_rows(manifest, home),
        **{f"scope/{one.name}": _said(one) for one in scopes},
    }
    return materialised(require_published(home).snapshot_id, metadata, recipe=manifest.inputs.recipe)


def _said(scope: ScopeState) -> dict[str, object]:
    """Return what is said of a scope in the UI."""
    shown = {"snapshot_id": scope.snapshot.snapshot_id, **scope.snapshot.rows} if scope.snapshot else {}
    return {**shown, "cost_usd": scope.cost_usd, **({"problem": scope.problem} if scope.problem else {})}


def report_published(instance: dg.DagsterInstance, situation: Situation) -> None:
    """Report the snapshot that readers open, so that what is downstream follows it, if Dagster knows another, or none.

    As after a release or rollback, and in a new instance.
    """
    key = Namespace(situation.settings.namespace).key("knowledge_base")
    event, published = instance.get_latest_materialization_event(key), situation.published
    tags = dict(event.asset_materialization.tags or {}) if event and event.asset_materialization else {}
    if published and tags.get(DATA_VERSION) != published.snapshot_id:
        tags[DATA_VERSION] = published.snapshot_id
        metadata: Metadata = {"snapshot_id": published.snapshot_id, "sequence": published.sequence}
        instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=metadata, tags=tags))


def integrity(context: dg.AssetCheckExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Check the published snapshot, unless this run published it: then it was checked a moment ago."""
    asset = Namespace(lightrag.settings.namespace).key("knowledge_base")
    problems = [] if asset in context.job_def.asset_layer.selected_asset_keys else check_published(lightrag.home)
    return dg.AssetCheckResult(passed=not problems, metadata={"findings": problems})


def gates(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
    """Fail while a gate stops the newest snapshot; warn of one that waits for a person, and of checks that warn."""
    situation = Situation.looking(lightrag.settings)
    newest = situation.newest
    if newest is None:
        return warned([], {})
    if not situation.unreleased:
        return warned(newest.gates.warnings, {})
    waits = f"{newest.snapshot_id} waits for `lightrag-dagster release`: {newest.gates}".removesuffix(": ")
    found = warned([waits, *newest.gates.warnings], {REASON: waits})
    return found._replace(severity=dg.AssetCheckSeverity.ERROR) if newest.gates.faults else found


def scope_published(name: str) -> Callable[..., dg.AssetCheckResult]:
    """Return the check of a scope."""

    def judged(lightrag: dg.ResourceParam[LightRAG]) -> dg.AssetCheckResult:
        situation = Situation.looking(lightrag.settings)
        if why := pending_scopes(situation).get(name):
            return dg.AssetCheckResult(passed=False, description=escaped(why))
        if name in empty_scopes(situation, ()):
            return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=f"It {EMPTY}.")
        below = Situation.looking(lightrag.settings.within(name))
        snapshot = below.published
        problems = check_published(below.home) if snapshot else []
        failed = failed_summaries(Generation(below.home, snapshot.snapshot_id)) if snapshot else []
        return dg.AssetCheckResult(
            passed=not (problems or failed),
            severity=dg.AssetCheckSeverity.WARN if failed and not problems else dg.AssetCheckSeverity.ERROR,
            description=escaped("; ".join([*problems, *failed])) or None,
            metadata={"snapshot_id": snapshot.snapshot_id, **snapshot.rows} if snapshot else {},
        )

    return judged


def _rows(manifest: Manifest, home: Home) -> Metadata:
    """Return the rows of every table, and the difference from the snapshot before."""
    metadata: Metadata = {f"rows/{table}": rows for table, rows in manifest.rows.items()}
    if before := previous_snapshot(home, manifest.snapshot_id):
        metadata |= {f"change/{table}": rows - before.rows.get(table, 0) for table, rows in manifest.rows.items()}
        metadata["previous_snapshot_id"] = before.snapshot_id
    return metadata
