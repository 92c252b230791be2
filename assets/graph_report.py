"""`graph_report`: the published snapshot as one page to look at."""

import dagster as dg

from lightrag_dagster.assets.declared import WRITER_POOL, asset
from lightrag_dagster.assets.metadata import stopwatch
from lightrag_dagster.resources import LightRAG


@asset(
    deps=["knowledge_base"],
    group_name="downstream",
    pool=WRITER_POOL,
    kinds={"html"},
    description="One HTML file about the published snapshot, which asks no network: its entities as a table and as a "
    "graph with communities in colour, quotes with their sources, and what changed.",
)
def graph_report(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Write the page, unless it is there."""
    from lightrag_dagster.report import published_picture, published_report

    with stopwatch() as watch:
        made = published_report(lightrag.home)
    picture = published_picture(lightrag.home, made)
    place = dg.MetadataValue.url(made.place) if "://" in made.place else dg.MetadataValue.path(made.place)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(made.snapshot_id),
        metadata={
            "place": place,
            "picture": dg.MetadataValue.md(picture),
            **made.figures,
            "bytes": made.bytes,
            "seconds": watch.seconds,
            "notes": list(made.notes),
            "snapshot_id": made.snapshot_id,
        },
    )
