"""The Dagster resources: the one that builds everything, made from the settings, and the one for queries."""

from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource
from lightrag_dagster.resources.lightrag import LightRAG
from lightrag_dagster.settings import Settings

__all__ = ["KnowledgeBaseResource", "LightRAG", "build_resources"]


def build_resources(settings: Settings) -> dict[str, object]:
    """Return every resource by its name in the assets."""
    return {"lightrag": LightRAG(settings)}
