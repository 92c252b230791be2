# ruff: noqa: D101, D102
"""The resources of before `LightRAG`, until the assets that still ask for them use it."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

import dagster as dg

from lightrag_dagster.models.providers import Account
from lightrag_dagster.models.stored import StoredChatModel, StoredEmbedder
from lightrag_dagster.settings import Role
from lightrag_dagster.storage import manifest
from lightrag_dagster.storage.generations import Generation, newest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables
from resources.lightrag import LightRAG


class _Part:
    def __init__(self, lightrag: LightRAG) -> None:
        self.lightrag = lightrag


class ChatModel(_Part):
    def open(self, role: Role, account: Account) -> AbstractAsyncContextManager[StoredChatModel]:
        return self.lightrag.chat_model(role, account)


class Embedder(_Part):
    def open(self, account: Account, embedder: manifest.Embedder) -> AbstractAsyncContextManager[StoredEmbedder]:
        return self.lightrag.embedder(account, embedder)


class Tables(_Part):
    def open(self) -> SourceTables:
        return self.lightrag.tables()


class Generations(_Part):
    @contextmanager
    def building(self) -> Iterator[Home]:
        with self.lightrag.building() as home:
            yield home

    def newest(self) -> Generation:
        return newest(self.lightrag.home)


ChatModelResource = dg.ResourceParam[ChatModel]
EmbedderResource = dg.ResourceParam[Embedder]
TablesResource = dg.ResourceParam[Tables]
GenerationsResource = dg.ResourceParam[Generations]
