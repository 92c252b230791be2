"""The Dagster resources: one object that everything is built from, made from the settings, and the query resource."""

from lightrag_dagster.knowledge_base_resource import KnowledgeBaseResource
from lightrag_dagster.settings import Settings
from resources.lightrag import LightRAG

__all__ = ["KnowledgeBaseResource", "LightRAG", "build_resources"]


def build_resources(settings: Settings) -> dict[str, object]:
    """Return every resource by the name under which assets ask for it."""
    return {"lightrag": LightRAG(settings)}
