"""Which model the settings mean, with its store in front. Providers are imported only when they are used."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.llm.identities import openai_chat_identity, openai_embedder_identity
from lightrag_dagster.llm.protocol import ChatModel, Embedder, Usage
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
        ProviderAccessError: OPENAI_BASE_URL is not a URL.
    """
    with ResponseStore(home.responses) as store:
        async with open_plain_chat_model(settings) as model:
            yield StoredChatModel(model, store, Usage())


@asynccontextmanager
async def open_embedder(settings: EmbeddingSettings, home: Home) -> AsyncIterator[StoredEmbedder]:
    """Open the embedding model for the block, in one event loop.

    Raises:
        StoreError: the vector store cannot be used.
        ProviderAccessError: OPENAI_BASE_URL is not a URL.
    """
    usage = Usage()
    with VectorStore(home.vectors) as store:
        async with open_plain_embedder(settings, usage) as embedder:
            yield StoredEmbedder(embedder, store, usage)


@asynccontextmanager
async def open_plain_chat_model(settings: LLMSettings) -> AsyncIterator[ChatModel]:
    """Open the language model without a store, for readers who may not write; raises ProviderAccessError as above."""
    if settings.provider == "offline":
        from lightrag_dagster.llm.offline import OfflineChatModel

        yield OfflineChatModel()
        return
    from lightrag_dagster.llm.openai_chat import OpenAIChatModel

    model = OpenAIChatModel(settings)
    try:
        yield model
    finally:
        await model.close()


@asynccontextmanager
async def open_plain_embedder(settings: EmbeddingSettings, usage: Usage | None = None) -> AsyncIterator[Embedder]:
    """Open the embedding model without a store; input tokens are counted in `usage` where given."""
    if settings.provider == "offline":
        from lightrag_dagster.llm.offline import LexicalEmbedder

        yield LexicalEmbedder(settings.dimensions)
        return
    from lightrag_dagster.llm.openai_embeddings import OpenAIEmbedder

    embedder = OpenAIEmbedder(settings, usage or Usage())
    try:
        yield embedder
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
