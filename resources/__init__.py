"""The Dagster resources that assets use: one object made from the settings, and the query resource."""

from lightrag_dagster.knowledge_base_resource import KnowledgeBaseResource
from lightrag_dagster.settings import Settings
from resources import old
from resources.lightrag import LightRAG
from resources.old import ChatModelResource, EmbedderResource, GenerationsResource, TablesResource

__all__ = [
    "ChatModelResource",
    "EmbedderResource",
    "GenerationsResource",
    "KnowledgeBaseResource",
    "LightRAG",
    "TablesResource",
    "build_resources",
]


def build_resources(settings: Settings) -> dict[str, object]:
    """Return every resource by the name under which assets ask for it."""
    lightrag = LightRAG(settings)
    return {
        "lightrag": lightrag,
        "settings": settings,
        "tables": old.Tables(lightrag),
        "generations": old.Generations(lightrag),
        "chat_model": old.ChatModel(lightrag),
        "embedder": old.Embedder(lightrag),
        "knowledge_base": KnowledgeBaseResource(home=str(settings.home.absolute()), options=_asking(settings)),
    }


def _asking(settings: Settings) -> dict[str, object]:
    """Return the settings that shape a question."""
    sections = {"llm", "embedding", "chunking", "extraction", "query", "rerank", "prompts"}
    return settings.model_dump(mode="json", include=sections, exclude_none=True)
