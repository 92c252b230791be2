"""`knowledge_base`: the published snapshot."""

from collections.abc import Iterator

import dagster as dg

from assets.metadata import OWNERS, WRITER_POOL, made_by, stopwatch
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.snapshots import publish
from resources import GenerationsResource


@dg.asset(
    deps=[
        "entities",
        "relations",
        "entity_evidence",
        "relation_evidence",
        "chunk_vectors",
        "entity_vectors",
        "relation_vectors",
        "knowledge_graph",
    ],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"parquet", "duckdb"},
    owners=OWNERS,
    description="The manifest that pins one version of every table and store; readers see it whole or not at all.",
    check_specs=[
        dg.AssetCheckSpec(
            "integrity",
            asset="knowledge_base",
            description="Invariant I5: endpoints and cited chunks exist, rows agree across Parquet, LanceDB and Kùzu, "
            "vectors are finite and of the right size. What breaks it is not published.",
        )
    ],
)
def knowledge_base(
    settings: dg.ResourceParam[Settings], generations: GenerationsResource
) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
    """Check the newest generation and make it the published snapshot."""
    from lightrag_dagster.indexes.integrity import findings
    from lightrag_dagster.indexes.views import build_views
    from lightrag_dagster.storage.gc import collect_garbage

    with stopwatch() as watch, generations.building() as home:
        generation = generations.newest()
        build_views(generation)
        problems = findings(generation)
        yield dg.AssetCheckResult(check_name="integrity", passed=not problems, metadata={"findings": problems})
        manifest = publish(home, generation, problems)
        if settings.retention.automatic:
            collect_garbage(home, settings.retention, dry_run=False)
    yield dg.MaterializeResult(
        data_version=dg.DataVersion(manifest.snapshot_id),
        tags=made_by(manifest.inputs.fingerprint),
        metadata={
            "snapshot_id": manifest.snapshot_id,
            "sequence": manifest.sequence,
            "left_out": dict(manifest.inputs.left_out),
            "seconds": watch.seconds,
            **{f"rows/{table}": rows for table, rows in manifest.rows.items()},
        },
    )
