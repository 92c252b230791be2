"""Factories of the models in the settings, with their stores in front; a provider is imported when it is used."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

from lightrag_dagster.core.protocols import ChatModel, CountingEmbedder, Embedder, Usage
from lightrag_dagster.core.roles import Role
from lightrag_dagster.engines.engine import LOCAL, Engine
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.cached import StoredChatModel, StoredEmbedder
from lightrag_dagster.models.identities import openai_chat_identity, openai_embedder_identity
from lightrag_dagster.models.rate_limit import ReserveTime
from lightrag_dagster.offline import LexicalEmbedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.budget import Budget
from lightrag_dagster.spending.prices import price_of, unpriced
from lightrag_dagster.storage import manifests
from lightrag_dagster.storage.home import Home

if TYPE_CHECKING:  # SQLAlchemy takes longer to import than a question may.
    from lightrag_dagster.spending.ledger import Ledger

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_chat_model(
    settings: LLMSettings, home: Home, role: Role = "answer", account: Account | None = None
) -> AsyncIterator[StoredChatModel]:
    """Open the language model for calls of one role, for the block, in one event loop.

    With an account, its budget applies, and the ledger gets an entry at the end of the block, even after an error.

    Raises:
        StoreError: the response store cannot be used.
        ProviderAccessError: the address is not a URL.
    """
    from lightrag_dagster.spending.ledger import Ledger, lost_stores
    from lightrag_dagster.storage.database.responses import ResponseStore

    for line in lost_stores(home, home.responses):
        _log.warning("%s", line)
    own = settings.of(role)
    ledger = Ledger(home.ledger)
    account = account and account.within(home.scope)
    warn_if_unbounded(own, account)
    price = price_of(own)
    with ResponseStore(home.responses) as store:
        async with open_plain_chat_model(own, ledger.reserve_time) as model:
            usage, limit = Usage(), own.max_output_tokens
            with _billed(account, ledger, role, model.identity, usage) as budget:
                yield StoredChatModel(model, store, usage, price=price, budget=budget, max_output_tokens=limit)


@asynccontextmanager
async def billed_apart(
    model: StoredChatModel, settings: LLMSettings, home: Home, role: Role, account: Account
) -> AsyncIterator[StoredChatModel]:
    """Give an opened model, with its connection, limits and calls in flight, that bills those of the block apart.

    The account's budget applies, and the ledger gets an entry at the end of the block.
    """
    from lightrag_dagster.spending.ledger import Ledger

    account, usage = account.within(home.scope), Usage()
    warn_if_unbounded(settings.of(role), account)
    with _billed(account, Ledger(home.ledger), role, model.identity, usage) as budget:
        yield model.counted_by(usage, budget)


@asynccontextmanager
async def open_embedder(
    settings: EmbeddingSettings, home: Home, account: Account | None = None, engine: Engine = LOCAL
) -> AsyncIterator[CountingEmbedder]:
    """Open the embedding model for the block, in one event loop; a local model is kept by the engine.

    The offline one has no store in front: its vectors cost nothing, and looking them up takes as long as making them.

    Raises:
        StoreError: the vector store cannot be used.
        ProviderAccessError: the address is not a URL.
        SettingsError: a local model is not on this machine.
    """
    if settings.provider == "offline":
        yield LexicalEmbedder(settings.dimensions)
        return
    from lightrag_dagster.spending.ledger import Ledger, lost_stores
    from lightrag_dagster.storage.database.vectors import VectorStore

    for line in lost_stores(home, home.vectors):
        _log.warning("%s", line)
    usage = Usage()
    ledger = Ledger(home.ledger)
    account = account and account.within(home.scope)
    warn_if_unbounded(settings, account)
    price = price_of(settings)
    with VectorStore(home.vectors) as store:
        async with open_plain_embedder(settings, usage, ledger.reserve_time, engine) as embedder:
            with _billed(account, ledger, "embed", embedder.identity, usage) as budget:
                yield StoredEmbedder(embedder, store, usage, price=price, budget=budget)


def warn_if_unbounded(settings: LLMSettings | EmbeddingSettings, account: Account | None) -> None:
    """Log that the limits of an account do not bound the calls of a model, since its price is not known."""
    if account and account.limits and (said := unpriced(settings)):
        _log.warning("%s", said)


@contextmanager
def _billed(account: Account | None, ledger: "Ledger", purpose: str, identity: str, usage: Usage) -> Iterator[Budget]:
    """Give a model its budget for the block, and enter its `usage` in the ledger at the end, if there is an account.

    It is an entry a day. Nothing is written before the first call that costs something.
    """
    budget = Budget((ledger, account) if account else None, usage)
    try:
        yield budget
    finally:
        if account:
            for name, used in budget.used().items():
                ledger.add(account.entry(purpose, identity, used), reserved=name)


@asynccontextmanager
async def open_plain_chat_model(
    settings: LLMSettings, reserve_time: ReserveTime | None = None
) -> AsyncIterator[ChatModel]:
    """Open the language model without a store, for readers without the right to write.

    Rate limits are those of this model alone, unless `reserve_time` shares them with others.

    Raises:
        ProviderAccessError: the address is not a URL.
    """
    if settings.provider == "offline":
        from lightrag_dagster.models.rules import OfflineChatModel

        yield OfflineChatModel()
        return
    from lightrag_dagster.models.openai_chat import OpenAIChatModel

    model = OpenAIChatModel(settings, reserve_time)
    try:
        yield model
    finally:
        await model.close()


@asynccontextmanager
async def open_plain_embedder(
    settings: EmbeddingSettings,
    usage: Usage | None = None,
    reserve_time: ReserveTime | None = None,
    engine: Engine = LOCAL,
) -> AsyncIterator[Embedder]:
    """Open the embedding model without a store, and count input tokens in `usage` if given; see also the chat model.

    Rate limits are those of this model alone, unless `reserve_time` shares them with others.

    Raises:
        ProviderAccessError: the address is not a URL.
        SettingsError: a local model is not on this machine.
    """
    if settings.provider == "offline":
        yield LexicalEmbedder(settings.dimensions)
        return
    if settings.provider == "local":
        from lightrag_dagster.models.local import open_local_embedder

        with open_local_embedder(settings, usage or Usage(), engine) as local:
            yield local
        return
    from lightrag_dagster.models.openai_embeddings import OpenAIEmbedder

    embedder = OpenAIEmbedder(settings, usage or Usage(), reserve_time)
    try:
        yield embedder
    finally:
        await embedder.close()


def chat_identity(settings: LLMSettings) -> str:
    """Return the identity of the language model without opening it."""
    if settings.provider != "offline":
        return openai_chat_identity(settings)
    from lightrag_dagster.models.rules import OfflineChatModel

    return OfflineChatModel().identity


def embedder_identity(settings: EmbeddingSettings) -> str:
    """Return the identity of the embedding model without opening it.

    Raises:
        SettingsError: a local model is not on this machine, or makes vectors of another length.
    """
    if settings.provider == "offline":
        return LexicalEmbedder(settings.dimensions).identity
    if settings.provider == "local":
        from lightrag_dagster.models.local import local_embedder_identity

        return local_embedder_identity(settings)
    return openai_embedder_identity(settings)


def tokens_read(settings: EmbeddingSettings) -> int | None:
    """Return the tokens of a text that the embedding model reads at most, without opening it; None if it reads all.

    Raises SettingsError if a local model is not on this machine.
    """
    if settings.provider == "offline":
        return None
    if settings.provider != "local":
        return settings.max_input_tokens
    from lightrag_dagster.models.local import local_tokens_read

    return local_tokens_read(settings)


def settings_of(embedder: manifests.EmbedderRecord, now: EmbeddingSettings) -> EmbeddingSettings:
    """Return settings that open the embedder of a snapshot; and its new place, if the current settings name one."""
    known = embedder.settings(now)
    with suppress(SettingsError):  # the identity of a missing model
        if now.provider == embedder.provider == "local" and embedder_identity(now) == embedder.identity:
            return known.model_copy(update={"model": now.model})
    return known
