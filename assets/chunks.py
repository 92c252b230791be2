"""`chunks`: token windows of a source's documents."""

import dagster as dg
import pyarrow as pa

from assets.metadata import OWNERS, keeps_drifted, made_by, stopwatch, table_metadata
from assets.partitions import SOURCES
from lightrag_dagster.build.staleness import recorded_fingerprint
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.chunking.keeping import keep_drifted_chunks
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
    fingerprint = Versions.of(settings).chunks
    with stopwatch() as watch:
        documents = store.require("raw_documents", source)
        kept, left = CHUNKS.empty_table(), store.read("raw_documents", source, documents.version)
        if keeps_drifted(context, settings):
            kept, left = keep_drifted_chunks(store, source, left, fingerprint)
        made = chunk_documents(left, settings.chunking)
        rows = pa.concat_tables([kept, made])
        version = store.write(
            "chunks",
            source,
            rows,
            inputs={"raw_documents": documents.version},
            fingerprint=recorded_fingerprint(
                fingerprint, store.current("chunks", source), kept=kept.num_rows, made=made.num_rows
            ),
        )
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version.version),
        tags=made_by(version.fingerprint),
        metadata=table_metadata(rows, seconds=watch.seconds, kept=kept.num_rows),
    )
