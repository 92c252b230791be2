"""Language and embedding model as Dagster resources."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from lightrag_dagster.models.batch.ledger import refuse_while_awaited
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.models.stored import StoredChatModel, StoredEmbedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings, Role
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Embedder

if TYPE_CHECKING:
    from lightrag_dagster.models.batch.model import BatchedChatModel


class ChatModelResource(dg.ConfigurableResource):
    """The language model, behind the home's response store: nothing is bought twice.

    The API key is read from the environment by the openai SDK and is no part of this resource.

        async with chat_model.open("extract", account) as model:
            response = await model.complete(request)
    """

    home: str = Field(description="Home whose response store is used.")
    options: dict[str, Any] = Field(default={}, description="Settings of `llm`: provider, model, limits.")

    def open(self, role: Role, account: Account) -> AbstractAsyncContextManager[StoredChatModel]:
        """Open the model for one block, for calls of one role."""
        return open_chat_model(LLMSettings(**self.options), Home(Path(self.home)), role, account)

    def open_for_extraction(
        self, account: Account, *, backfill: bool = False
    ) -> AbstractAsyncContextManager[StoredChatModel] | AbstractAsyncContextManager["BatchedChatModel"]:
        """Open it for extraction, in the mode of `llm.mode`. With batches, `backfill` is remembered while they run.

        Raises:
            SettingsError: in real time, while the account's source waits for batches.
        """
        llm, home = LLMSettings(**self.options), Home(Path(self.home))
        if not llm.by_batch:
            if llm.provider != "offline":
                refuse_while_awaited(home, account.source)
            return self.open("extract", account)
        from lightrag_dagster.models.batch.model import open_batched_chat_model

        return open_batched_chat_model(llm, home, account, backfill=backfill)


class EmbedderResource(dg.ConfigurableResource):
    """The embedding model, behind the home's vector store: nothing is embedded twice.

    async with embedder.open(account, recipe.embedder) as model:
        vectors = await model.embed_documents(texts)
    """

    home: str = Field(description="Home whose vector store is used.")
    options: dict[str, Any] = Field(default={}, description="Settings of `embedding`: provider, model, limits.")

    def open(self, account: Account, embedder: Embedder) -> AbstractAsyncContextManager[StoredEmbedder]:
        """Open an embedder, which need not be the one of the settings, for one block."""
        return open_embedder(embedder.settings(EmbeddingSettings(**self.options)), Home(Path(self.home)), account)
