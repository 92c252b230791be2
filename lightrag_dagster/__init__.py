"""LightRAG as a batch data platform: documents in, a published knowledge base out, every step a table."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightrag_dagster.core.protocols import ChatRequest as ChatRequest
    from lightrag_dagster.core.protocols import Message as Message
    from lightrag_dagster.errors import LightRAGError as LightRAGError
    from lightrag_dagster.orchestration.component import KnowledgeBaseComponent as KnowledgeBaseComponent
    from lightrag_dagster.query.facts.conditions import FactOptions as FactOptions
    from lightrag_dagster.query.facts.types import FactCounts as FactCounts
    from lightrag_dagster.query.facts.types import FactList as FactList
    from lightrag_dagster.query.filters.filters import Filters as Filters
    from lightrag_dagster.query.graph.types import Choice as Choice
    from lightrag_dagster.query.graph.types import Connection as Connection
    from lightrag_dagster.query.graph.types import Neighbourhood as Neighbourhood
    from lightrag_dagster.query.graph.types import Profile as Profile
    from lightrag_dagster.query.knowledge_base import KnowledgeBase as KnowledgeBase
    from lightrag_dagster.query.knowledge_base import Prepared as Prepared
    from lightrag_dagster.query.question import QueryOptions as QueryOptions
    from lightrag_dagster.query.types import Answer as Answer
    from lightrag_dagster.query.types import Chunk as Chunk
    from lightrag_dagster.query.types import Citation as Citation
    from lightrag_dagster.query.types import Entity as Entity
    from lightrag_dagster.query.types import Fact as Fact
    from lightrag_dagster.query.types import Keywords as Keywords
    from lightrag_dagster.query.types import Reference as Reference
    from lightrag_dagster.query.types import Relation as Relation
    from lightrag_dagster.query.types import Retrieval as Retrieval
    from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource as KnowledgeBaseResource
    from lightrag_dagster.settings import Settings as Settings
    from lightrag_dagster.settings import load_settings as load_settings
    from lightrag_dagster.spending.account import Account as Account
    from lightrag_dagster.stages.documents.connectors.origin import ListedFile as ListedFile

# Imported at first use, so that settings do not import the stores, nor a question Dagster.
_MODULES = {
    "core.protocols": ("ChatRequest", "Message"),
    "errors": ("LightRAGError",),
    "orchestration.component": ("KnowledgeBaseComponent",),
    "query.facts.conditions": ("FactOptions",),
    "query.facts.types": ("FactCounts", "FactList"),
    "query.filters.filters": ("Filters",),
    "query.graph.types": ("Choice", "Connection", "Neighbourhood", "Profile"),
    "query.knowledge_base": ("KnowledgeBase", "Prepared"),
    "query.question": ("QueryOptions",),
    "query.types": (
        *("Answer", "Chunk", "Citation", "Entity", "Fact", "Keywords", "Reference", "Relation", "Retrieval"),
    ),
    "resources.knowledge_base": ("KnowledgeBaseResource",),
    "settings": ("Settings", "load_settings"),
    "spending.account": ("Account",),
    "stages.documents.connectors.origin": ("ListedFile",),
}
_PLACES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("lightrag-dagster")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    """List the public names; `dg` finds the component by them."""
    return [*globals(), *_PLACES]
