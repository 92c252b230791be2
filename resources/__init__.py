"""The Dagster resources that assets use, and how settings configure them."""

from lightrag_dagster.knowledge_base_resource import KnowledgeBaseResource
from lightrag_dagster.settings import Settings
from resources.models import ChatModelResource, EmbedderResource
from resources.stores import GenerationsResource, TablesResource

__all__ = [
    "ChatModelResource",
    "EmbedderResource",
    "GenerationsResource",
    "KnowledgeBaseResource",
    "TablesResource",
    "build_resources",
]


def build_resources(settings: Settings) -> dict[str, object]:
    """Return every resource by the name under which assets ask for it."""
    home = str(settings.home.absolute())
    return {
        "settings": settings,
        "tables": TablesResource(home=home),
        "generations": GenerationsResource(home=home),
        "chat_model": ChatModelResource(home=home, options=settings.llm.model_dump(exclude_none=True)),
        "embedder": EmbedderResource(home=home, options=settings.embedding.model_dump(exclude_none=True)),
        "knowledge_base": KnowledgeBaseResource(home=home, options=_asking(settings)),
    }


def _asking(settings: Settings) -> dict[str, object]:
    """Return the settings that shape a question."""
    sections = {"llm", "embedding", "chunking", "extraction", "query", "rerank", "prompts"}
    return settings.model_dump(mode="json", include=sections, exclude_none=True)
