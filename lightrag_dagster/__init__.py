"""LightRAG as a batch data platform: documents in, a published knowledge base out, every step a table."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightrag_dagster.core.protocols import Message as Message
    from lightrag_dagster.orchestration.component import KnowledgeBaseComponent as KnowledgeBaseComponent
    from lightrag_dagster.query.filters.filters import Filters as Filters
    from lightrag_dagster.query.knowledge_base import KnowledgeBase as KnowledgeBase
    from lightrag_dagster.query.types import Answer as Answer
    from lightrag_dagster.query.types import Keywords as Keywords
    from lightrag_dagster.query.types import Retrieval as Retrieval
    from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource as KnowledgeBaseResource
    from lightrag_dagster.stages.documents.connectors.origin import ListedFile as ListedFile

# Imported at first use, so that settings do not import the stores, nor a question Dagster.
_MODULES = {
    "Answer": "lightrag_dagster.query.types",
    "Filters": "lightrag_dagster.query.filters.filters",
    "Keywords": "lightrag_dagster.query.types",
    "KnowledgeBase": "lightrag_dagster.query.knowledge_base",
    "KnowledgeBaseComponent": "lightrag_dagster.orchestration.component",
    "KnowledgeBaseResource": "lightrag_dagster.resources.knowledge_base",
    "ListedFile": "lightrag_dagster.stages.documents.connectors.origin",
    "Message": "lightrag_dagster.core.protocols",
    "Retrieval": "lightrag_dagster.query.types",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("lightrag-dagster")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """List the public names; `dg` finds the component by them."""
    return [*globals(), *_MODULES]
