"""Which model the settings mean, with its store in front. Providers are imported only when they are used."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.llm.identities import openai_chat_identity, openai_embedder_identity
from lightrag_dagster.llm.protocol import Usage
from lightrag_dagster.llm.stored import StoredChatModel, StoredEmbedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from lightrag_dagster.stores.home import Home
from lightrag_dagster.stores.responses import ResponseStore
from lightrag_dagster.stores.vectors import VectorStore


@asynccontextmanager
async def open_chat_model(settings: LLMSettings, home: Home) -> AsyncIterator[StoredChatModel]:
    """Open the language model for the block, in one event loop.

    Raises:
        StoreError: the response store cannot be used.
    """
    with ResponseStore(home.responses) as store:
        if settings.provider == "offline":
            from lightrag_dagster.llm.offline import OfflineChatModel

            yield StoredChatModel(OfflineChatModel(), store, Usage())
            return
        from lightrag_dagster.llm.openai_provider import OpenAIChatModel

        model = OpenAIChatModel(settings)
        try:
            yield StoredChatModel(model, store, Usage())
        finally:
            await model.close()


@asynccontextmanager
async def open_embedder(settings: EmbeddingSettings, home: Home) -> AsyncIterator[StoredEmbedder]:
    """Open the embedding model for the block, in one event loop.

    Raises:
        StoreError: the vector store cannot be used.
    """
    usage = Usage()
    with VectorStore(home.vectors) as store:
        if settings.provider == "offline":
            from lightrag_dagster.llm.offline import LexicalEmbedder

            yield StoredEmbedder(LexicalEmbedder(settings.dimensions), store, usage)
            return
        from lightrag_dagster.llm.openai_provider import OpenAIEmbedder

        embedder = OpenAIEmbedder(settings, usage)
        try:
            yield StoredEmbedder(embedder, store, usage)
        finally:
            await embedder.close()


def chat_identity(settings: LLMSettings) -> str:
    """Return the identity of the language model without opening it."""
    if settings.provider == "openai":
        return openai_chat_identity(settings)
    from lightrag_dagster.llm.offline import OfflineChatModel

    return OfflineChatModel().identity


def embedder_identity(settings: EmbeddingSettings) -> str:
    """Return the identity of the embedding model without opening it."""
    if settings.provider == "openai":
        return openai_embedder_identity(settings)
    from lightrag_dagster.llm.offline import LexicalEmbedder

    return LexicalEmbedder(settings.dimensions).identity
