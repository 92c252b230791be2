"""`entity_mentions`, `relation_mentions` and `parsed`: the parsed responses; and the acceptance of the source."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.declared import multi_asset
from lightrag_dagster.assets.metadata import IngestConfig, ingested, is_backfill, stopwatch
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.resources import LightRAG

_DESCRIPTIONS = {
    "entity_mentions": "Entities as each chunk names them; parsing again costs no call.",
    "relation_mentions": "Relations as each chunk states them; parsing again costs no call.",
    "parsed": "Numbers of rows of each chunk's answers that became mentions or could not be used, and the reason.",
}


@multi_asset(
    "mentions",
    partitioned=True,
    group_name="ingestion",
    specs=[
        dg.AssetSpec(name, deps=["extractions"], kinds={"python", "parquet"}, description=description)
        for name, description in _DESCRIPTIONS.items()
    ],
)
def mentions(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> Iterator[dg.MaterializeResult]:
    """Parse the responses that were not parsed before; accept the source's tables when they may be merged."""
    namespace, source = Namespace(lightrag.settings.namespace), context.partition_key
    tables = lightrag.tables(candidate=is_backfill(context, config, lightrag.settings))
    with stopwatch() as watch:
        reports, _ = parse_and_accept(source, tables, lightrag.recipes)
    for report in reports:
        yield ingested(report, lightrag.recipes, watch, namespace.key(report.version.table))
