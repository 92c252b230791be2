"""The Dagster assets, by stage: read, call the engine, write, report."""

from lightrag_dagster.assets.answers import answers
from lightrag_dagster.assets.curation import curation
from lightrag_dagster.assets.downstream import communities, duplicate_candidates, exports, graph_report
from lightrag_dagster.assets.evaluation import extraction_evaluation, retrieval_evaluation
from lightrag_dagster.assets.graph import knowledge_graph, published_graph
from lightrag_dagster.assets.ingestion import chunks, extractions, facts, mentions, raw_documents, readings
from lightrag_dagster.assets.knowledge_base import knowledge_base
from lightrag_dagster.assets.merged import merged, merged_facts
from lightrag_dagster.assets.status_report import status_report
from lightrag_dagster.assets.vectors import chunk_vectors, entity_vectors, relation_vectors

INGESTION = [raw_documents, chunks, extractions, mentions, readings, facts]
"""Assets with one partition a source; the last two where there are passes."""

PUBLICATION = [
    curation,
    merged,
    merged_facts,
    chunk_vectors,
    entity_vectors,
    relation_vectors,
    knowledge_graph,
    knowledge_base,
    published_graph,
]
"""Assets over all sources: the decisions of people, the published snapshot, its parts and its additions."""

DOWNSTREAM = [
    answers,
    retrieval_evaluation,
    extraction_evaluation,
    duplicate_candidates,
    communities,
    exports,
    graph_report,
    status_report,
]
"""Assets made from the published snapshot, in no job."""

ASSETS = [*INGESTION, *PUBLICATION, *DOWNSTREAM]

__all__ = ["ASSETS", "INGESTION", "PUBLICATION"]
