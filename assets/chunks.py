"""`chunks`: token windows of a source's documents."""

import dagster as dg

from assets.metadata import OWNERS, stopwatch, table_metadata
from assets.partitions import SOURCES
from lightrag_dagster.chunking.chunks import chunk_documents
from lightrag_dagster.settings import Settings
from lightrag_dagster.versions import Versions
from resources import TablesResource


@dg.asset(
    partitions_def=SOURCES,
    deps=["raw_documents"],
    group_name="ingestion",
    kinds={"python", "parquet"},
    owners=OWNERS,
    description="One row a chunk position: content-addressed id, text, tokens, character span and heading.",
)
def chunks(
    context: dg.AssetExecutionContext, settings: dg.ResourceParam[Settings], tables: TablesResource
) -> dg.MaterializeResult:
    """Cut the documents into token windows."""
    store, source = tables.open(), context.partition_key
    with stopwatch() as watch:
        documents = store.require("raw_documents", source)
        rows = chunk_documents(store.read("raw_documents", source, documents.version), settings.chunking)
        version = store.write(
            "chunks",
            source,
            rows,
            inputs={"raw_documents": documents.version},
            fingerprint=Versions.of(settings).chunks,
        )
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version.version),
        metadata=table_metadata(rows, seconds=watch.seconds),
    )
