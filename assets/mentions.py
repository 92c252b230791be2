"""`entity_mentions` and `relation_mentions`: the records in the raw responses, and whether the source is accepted."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from assets.metadata import OWNERS, stopwatch, table_metadata
from assets.partitions import SOURCES
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.storage.acceptance import accept
from lightrag_dagster.storage.home import Home
from resources import TablesResource


@dg.multi_asset(
    name="mentions",
    partitions_def=SOURCES,
    group_name="ingestion",
    specs=[
        dg.AssetSpec(
            "entity_mentions",
            deps=["extractions"],
            kinds={"python", "parquet"},
            owners=OWNERS,
            description="Entities as each chunk names them; parsing again costs no call.",
        ),
        dg.AssetSpec(
            "relation_mentions",
            deps=["extractions"],
            kinds={"python", "parquet"},
            owners=OWNERS,
            description="Relations as each chunk states them; parsing again costs no call.",
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "accepted",
            asset="entity_mentions",
            description="The source's tables belong together and few enough documents and chunks failed, so the "
            "merge reads this version; otherwise it keeps reading the last accepted one.",
        )
    ],
)
def mentions(
    context: dg.AssetExecutionContext, settings: dg.ResourceParam[Settings], tables: TablesResource
) -> Iterator[dg.MaterializeResult]:
    """Parse the responses that were not parsed before; accept the source's tables when they may be merged."""
    from lightrag_dagster.stages.extraction.keeping import keep_mentions

    store, source = tables.open(), context.partition_key
    fingerprint = Versions.of(settings).mentions
    with stopwatch() as watch:
        extractions = store.require("extractions", source)
        rows = store.read("extractions", source, extractions.version)
        kept_entities, kept_relations, left = keep_mentions(store, source, rows, fingerprint)
        new_entities, new_relations = parse_extractions(left)
        entities = pa.concat_tables([kept_entities, new_entities])
        relations = pa.concat_tables([kept_relations, new_relations])
        inputs = {"extractions": extractions.version}
        entity_version = store.write("entity_mentions", source, entities, inputs=inputs, fingerprint=fingerprint)
        relation_version = store.write("relation_mentions", source, relations, inputs=inputs, fingerprint=fingerprint)
        acceptance = accept(Home(settings.home), source, settings.documents.max_failed_share)
    yield dg.MaterializeResult(
        asset_key="entity_mentions",
        data_version=dg.DataVersion(entity_version.version),
        metadata=table_metadata(entities, seconds=watch.seconds),
        check_results=[
            dg.AssetCheckResult(
                check_name="accepted",
                passed=acceptance.accepted,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"reason": acceptance.reason or "all tables belong together; few enough failures"},
            )
        ],
    )
    yield dg.MaterializeResult(
        asset_key="relation_mentions",
        data_version=dg.DataVersion(relation_version.version),
        metadata=table_metadata(relations, seconds=watch.seconds),
    )
