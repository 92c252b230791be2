"""Assets about the published snapshot, made on request: pairs of names, communities, exports and a page."""

import dagster as dg

from lightrag_dagster.assets.column_lineage import column_lineage
from lightrag_dagster.assets.declared import WRITER_POOL, downstream
from lightrag_dagster.assets.metadata import Metadata, materialised, stopwatch, table_metadata
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, count_values


@downstream(
    kinds={"parquet", "duckdb"},
    description="One row a pair of entities of the published snapshot that may be one, with evidence, a score and a "
    "verdict. Nothing is joined: `curate review` asks people.",
)
def duplicate_candidates(lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Compare the names of the published snapshot."""
    from lightrag_dagster.curation.desk import find_duplicates

    with stopwatch() as watch:
        found = find_duplicates(Situation.looking(lightrag.settings))
    verdicts = {f"pairs/{verdict}": pairs for verdict, pairs in count_values(found.rows["verdict"]).items()}
    dropped = {"cut": found.cut, "outdone": found.outdone, "dropped_unlikely": found.unlikely}
    lineage = column_lineage("duplicate_candidates", Namespace(lightrag.settings.namespace))
    metadata = table_metadata(found.rows, seconds=watch.seconds) | verdicts | lineage | dropped
    return materialised(found.version, metadata)


@downstream(
    kinds={"parquet"},
    description="One row a group of entities that have more relations among each other than to others, by the Leiden "
    "algorithm; needs the extra `graph`.",
)
def communities(lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Find the communities of the published graph, unless they are stored."""
    from lightrag_dagster.pipeline.communities import communities as find

    with stopwatch() as watch:
        found = find(lightrag.home)
    levels = {f"communities/level {level}": rows for level, rows in count_values(found["level"]).items()}
    version = lightrag.tables().require("communities", ALL_SOURCES)
    lineage = column_lineage("communities", Namespace(lightrag.settings.namespace))
    return materialised(version.version, table_metadata(found, seconds=watch.seconds) | levels | lineage)


@downstream(
    pool=WRITER_POOL,
    kinds={"parquet", "duckdb"},
    description="The published snapshot in the formats that the setting `exports` names, for other programs.",
)
def exports(lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Write the formats that are not there yet."""
    from lightrag_dagster.exports.exports import export_published
    from lightrag_dagster.storage.snapshots.exported import place_of

    formats = lightrag.settings.exports
    with stopwatch() as watch:
        found = export_published(lightrag.home, formats)
    metadata: Metadata = {"snapshot_id": found.snapshot_id, "seconds": watch.seconds}
    for form in formats:
        one = found.formats[form]
        metadata |= {f"{form}/rows/{name}": rows for name, rows in one.rows.items()}
        metadata |= {f"{form}/bytes": one.bytes, f"{form}/notes": list(one.notes)}
        metadata[f"{form}/place"] = place_of(lightrag.home, found.snapshot_id, form)
    return materialised("-".join([found.snapshot_id, *sorted({*formats})]), metadata)


@downstream(
    pool=WRITER_POOL,
    kinds={"html"},
    description="One HTML file about the published snapshot, which asks no network: its entities as a table and as a "
    "graph with communities in colour, quotes with their sources, and what changed.",
)
def graph_report(lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Write the page, unless it is there."""
    from lightrag_dagster.report import published_picture, published_report

    with stopwatch() as watch:
        made = published_report(lightrag.home)
    picture = published_picture(lightrag.home, made)
    place = dg.MetadataValue.url(made.place) if "://" in made.place else dg.MetadataValue.path(made.place)
    metadata: Metadata = {
        "place": place,
        "picture": dg.MetadataValue.md(picture),
        **made.figures,
        "bytes": made.bytes,
        "seconds": watch.seconds,
        "notes": list(made.notes),
        "snapshot_id": made.snapshot_id,
    }
    return materialised(made.snapshot_id, metadata)
