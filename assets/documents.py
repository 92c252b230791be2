"""`raw_documents`: what a source holds now."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets.metadata import OWNERS, counts, stopwatch, table_metadata
from assets.partitions import SOURCES
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.deletions import check_deletions
from lightrag_dagster.stages.documents.listing import ListedFile, list_files, listing_signature
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.stages.documents.table import read_documents
from resources import TablesResource


@dg.asset(
    partitions_def=SOURCES,
    group_name="ingestion",
    kinds={"python", "parquet"},
    owners=OWNERS,
    description="One row a document: text, identity, content hash and status. Failures and duplicates are rows too.",
    check_specs=[
        dg.AssetCheckSpec(
            "failed_documents",
            asset="raw_documents",
            description="The share of documents that could not be read is at or under documents.max_failed_share.",
        )
    ],
)
def raw_documents(
    context: dg.AssetExecutionContext, settings: dg.ResourceParam[Settings], tables: TablesResource
) -> dg.MaterializeResult:
    """Read the source as it is now."""
    store, source = tables.open(), context.partition_key
    with stopwatch() as watch:
        files = list_files(find_source(settings, source))
        previous = store.read("raw_documents", source) if store.current("raw_documents", source) else None
        rows = read_documents(source, files, previous, settings.documents)
        check_deletions(source, previous, rows, settings.documents)
        version = store.write(
            "raw_documents",
            source,
            rows,
            inputs={"files": _signature(files, rows)},
            fingerprint=Versions.of(settings).raw_documents,
        )
    status = counts(rows["status"])
    failed = status.get("failed", 0)
    share = failed / max(1, rows.num_rows)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version.version),
        metadata=table_metadata(rows, seconds=watch.seconds, **status),
        check_results=[
            dg.AssetCheckResult(
                check_name="failed_documents",
                passed=share <= settings.documents.max_failed_share,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"failed": failed, "share": share, "allowed": settings.documents.max_failed_share},
            )
        ],
    )


def _signature(files: Sequence[ListedFile], rows: pa.Table) -> str:
    """Return what the next run compares the files with; a file that could not be read makes it read all again."""
    unread = pc.any(pc.equal(rows["status"], "stale")).as_py()
    return "unread" if unread else listing_signature(files)
