"""The Dagster resources: the one that builds everything, made from the settings, and the one for queries."""

from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource
from lightrag_dagster.resources.lightrag import LightRAG

__all__ = ["KnowledgeBaseResource", "LightRAG"]
