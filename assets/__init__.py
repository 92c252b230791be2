"""The Dagster assets, one module a stage: read, call the engine, write, report."""

from assets.answers import answers
from assets.checks import SOURCE_CHECKS
from assets.chunks import chunks
from assets.documents import raw_documents
from assets.extractions import extractions
from assets.graph import knowledge_graph
from assets.knowledge_base import integrity, knowledge_base
from assets.mentions import mentions
from assets.merged import merged
from assets.retrieval_evaluation import retrieval_evaluation
from assets.status_report import all_published, status_report
from assets.vectors import chunk_vectors, entity_vectors, relation_vectors

INGESTION = [raw_documents, chunks, extractions, mentions]
"""Assets with one partition a source."""

PUBLICATION = [merged, chunk_vectors, entity_vectors, relation_vectors, knowledge_graph, knowledge_base]
"""Assets over all sources, up to the published snapshot."""

CHECKS = [*SOURCE_CHECKS, integrity, all_published]
"""Checks that can be run again by themselves."""

ASSETS = [*INGESTION, *PUBLICATION, answers, retrieval_evaluation, status_report]

__all__ = ["ASSETS", "CHECKS", "INGESTION", "PUBLICATION", "SOURCE_CHECKS"]
