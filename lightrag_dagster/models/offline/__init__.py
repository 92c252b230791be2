"""A provider that needs no model, no network and no key: rules instead of a language model, hashed words as vectors."""

from lightrag_dagster.models.offline.chat import OfflineChatModel
from lightrag_dagster.models.offline.embedder import LexicalEmbedder

__all__ = ["LexicalEmbedder", "OfflineChatModel"]
