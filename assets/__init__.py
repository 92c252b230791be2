"""The Dagster assets, one module a stage: read, call the engine, write, report."""

from assets.answers import answers
from assets.chunks import chunks
from assets.documents import raw_documents
from assets.extractions import extractions
from assets.graph import knowledge_graph, published_graph
from assets.knowledge_base import knowledge_base
from assets.mentions import mentions
from assets.merged import merged
from assets.retrieval_evaluation import retrieval_evaluation
from assets.status_report import status_report
from assets.vectors import chunk_vectors, entity_vectors, relation_vectors

INGESTION = [raw_documents, chunks, extractions, mentions]
"""Assets with one partition a source."""

PUBLICATION = [
    merged,
    chunk_vectors,
    entity_vectors,
    relation_vectors,
    knowledge_graph,
    knowledge_base,
    published_graph,
]
"""Assets over all sources: the published snapshot, and what it is made from and completed by."""

ASSETS = [*INGESTION, *PUBLICATION, answers, retrieval_evaluation, status_report]

__all__ = ["ASSETS", "INGESTION", "PUBLICATION"]
