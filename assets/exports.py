"""`exports`: the published snapshot in files for other programs, in the formats of the setting `exports`."""

import dagster as dg

from lightrag_dagster.assets.declared import WRITER_POOL, asset
from lightrag_dagster.assets.metadata import Metadata, stopwatch
from lightrag_dagster.resources import LightRAG


@asset(
    deps=["knowledge_base"],
    group_name="downstream",
    pool=WRITER_POOL,
    kinds={"parquet", "duckdb"},
    description="The published snapshot in the formats that the setting `exports` names, for other programs; without "
    "any, nothing is written.",
)
def exports(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Write the formats that are not there yet."""
    formats = lightrag.settings.exports
    if not formats:
        said = "nothing is exported: the setting `exports` names no format"
        context.log.info(said)
        return dg.MaterializeResult(data_version=dg.DataVersion("none"), metadata={"exported": said})
    from lightrag_dagster.exports.exports import export_published
    from lightrag_dagster.storage.snapshots.exported import place_of

    with stopwatch() as watch:
        found = export_published(lightrag.home, formats)
    metadata: Metadata = {"snapshot_id": found.snapshot_id, "seconds": watch.seconds}
    for form in formats:
        one = found.formats[form]
        metadata |= {f"{form}/rows/{name}": rows for name, rows in one.rows.items()}
        metadata |= {f"{form}/bytes": one.bytes, f"{form}/notes": list(one.notes)}
        metadata[f"{form}/place"] = place_of(lightrag.home, found.snapshot_id, form)
    return dg.MaterializeResult(
        data_version=dg.DataVersion("-".join([found.snapshot_id, *sorted({*formats})])), metadata=metadata
    )
