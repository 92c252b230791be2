"""Earlier listings of sources that can tell what changed since: partitions of an asset, rows with a watermark."""

from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.stages.documents.connectors.origin import Incremental
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.connectors.watermark import Watermarked
from lightrag_dagster.stages.documents.listing import Earlier, source_signature
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion

_DOCUMENTS = "raw_documents"


def earlier_listing(source: Source, tables: SourceTables, recipes: Recipes) -> Earlier:
    """Return the listing of which the current documents were read by today's code; empty if all is to be read.

    In a backfill all is. Raises StoreError when a record is damaged.
    """
    listed = _listed(source, tables)
    documents = None if tables.candidate else tables.current(_DOCUMENTS, source.name)
    if listed is None or documents is None or listed.recipe != recipes.table_recipe(_DOCUMENTS, source.name):
        return Earlier()
    if listed.inputs.get(_DOCUMENTS) != documents.version or not tables.has("listed", source.name, listed.version):
        return Earlier()
    return Earlier(listed.inputs, tables.open("listed", source.name, listed.version))


def access_listed(source: Source, tables: SourceTables, documents: str) -> str | None:
    """Return a hash of what settings said of access when a version of documents was listed; None if that is unknown."""
    listed = _listed(source, SourceTables(tables.home))
    return listed.inputs.get("access") if listed and listed.inputs.get(_DOCUMENTS) == documents else None


def signature_now(source: Source, tables: SourceTables, recipes: Recipes) -> str:
    """Return the signature of a source as it is now; raises SourceError when it cannot be listed, and StoreError."""
    is_read = not isinstance(source.origin, Partitioned)  # of which the versions say all
    return source_signature(source, earlier_listing(source, tables, recipes).state if is_read else {})


def watermark_of(source: Source) -> str | None:
    """Return the column from whose highest value on a source's rows are read; None for other sources."""
    return source.origin.watermark if isinstance(source.origin, Watermarked) else None


def watermark_line(source: str, column: str) -> str:
    """Return what people should know of a source with a watermark."""
    return f"{source} has the watermark {column}: documents that are gone upstream stay; a backfill reads all rows."


def _listed(source: Source, tables: SourceTables) -> TableVersion | None:
    return tables.current("listed", source.name) if isinstance(source.origin, Incremental) else None
