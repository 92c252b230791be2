"""The Dagster resources: one object that everything is built from, made from the settings, and the query resource."""

from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource
from lightrag_dagster.resources.lightrag import LightRAG
from lightrag_dagster.settings import Settings

__all__ = ["KnowledgeBaseResource", "LightRAG", "build_resources"]


def build_resources(settings: Settings) -> dict[str, object]:
    """Return every resource by the name under which assets ask for it."""
    return {"lightrag": LightRAG(settings)}
