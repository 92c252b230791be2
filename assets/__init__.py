"""The Dagster assets, one module per stage: read, call the engine, write, report."""

from lightrag_dagster.assets.answers import answers
from lightrag_dagster.assets.chunks import chunks
from lightrag_dagster.assets.communities import communities
from lightrag_dagster.assets.curation import curation
from lightrag_dagster.assets.documents import raw_documents
from lightrag_dagster.assets.duplicate_candidates import duplicate_candidates
from lightrag_dagster.assets.exports import exports
from lightrag_dagster.assets.extractions import extractions
from lightrag_dagster.assets.graph import knowledge_graph, published_graph
from lightrag_dagster.assets.graph_report import graph_report
from lightrag_dagster.assets.knowledge_base import knowledge_base
from lightrag_dagster.assets.mentions import mentions
from lightrag_dagster.assets.merged import merged
from lightrag_dagster.assets.retrieval_evaluation import retrieval_evaluation
from lightrag_dagster.assets.status_report import status_report
from lightrag_dagster.assets.vectors import chunk_vectors, entity_vectors, relation_vectors

INGESTION = [raw_documents, chunks, extractions, mentions]
"""Assets with one partition a source."""

PUBLICATION = [
    curation,
    merged,
    chunk_vectors,
    entity_vectors,
    relation_vectors,
    knowledge_graph,
    knowledge_base,
    published_graph,
]
"""Assets over all sources: the decisions of people, the published snapshot, its parts and its additions."""

DOWNSTREAM = [answers, retrieval_evaluation, duplicate_candidates, communities, exports, graph_report, status_report]
"""Assets made from the published snapshot, in no job."""

ASSETS = [*INGESTION, *PUBLICATION, *DOWNSTREAM]

__all__ = ["ASSETS", "INGESTION", "PUBLICATION"]
