"""Checks of an ingested source, one result a source; each can be run again without reading anything again."""

import warnings

import dagster as dg

from assets.metadata import IngestConfig
from assets.partitions import SOURCES
from lightrag_dagster.storage.acceptance import failed_share, judge
from resources import LightRAG


def _failed_share_check(name: str, asset: str, description: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name=name, partitions_def=SOURCES, description=description)
    def check(
        context: dg.AssetCheckExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
    ) -> dg.AssetCheckResult:
        version = lightrag.tables(candidate=config.backfill).require(asset, context.partition_key)
        share, allowed = failed_share(version), lightrag.settings.documents.max_failed_share
        return dg.AssetCheckResult(
            passed=share <= allowed,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "failed": version.count("status", "failed"),
                "skipped": version.count("status", "skipped"),
                "share": share,
                "allowed": allowed,
                "reasons": version.reasons,
            },
        )

    return check


with warnings.catch_warnings():
    # Checks with partitions are a preview in Dagster 1.13; without them a healthy source would turn a sick one green.
    warnings.filterwarnings("ignore", category=dg.PreviewWarning)

    failed_documents = _failed_share_check(
        "failed_documents",
        "raw_documents",
        "The share of documents that could not be read is at or under documents.max_failed_share; skipped ones, of "
        "types that cannot be read, do not count.",
    )
    failed_chunks = _failed_share_check(
        "failed_chunks",
        "extractions",
        "The share of chunks whose extraction failed is at or under documents.max_failed_share.",
    )

    @dg.asset_check(
        asset="entity_mentions",
        name="accepted",
        partitions_def=SOURCES,
        description="The source's tables are whole and few enough documents and chunks failed, so the merge "
        "reads this version; if not, it keeps reading the last accepted one.",
    )
    def source_accepted(
        context: dg.AssetCheckExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
    ) -> dg.AssetCheckResult:
        """Judge the tables of one source again."""
        # A backfill that was accepted has no candidate tables any more; then these are the current ones.
        tables, share = lightrag.tables(candidate=config.backfill), lightrag.settings.documents.max_failed_share
        judged = judge(tables, context.partition_key, share)
        return dg.AssetCheckResult(
            passed=judged.accepted,
            severity=dg.AssetCheckSeverity.ERROR,
            description=judged.reason,
            metadata={"failed_documents": judged.failed_documents, "failed_chunks": judged.failed_chunks},
        )


SOURCE_CHECKS = [failed_documents, failed_chunks, source_accepted]
