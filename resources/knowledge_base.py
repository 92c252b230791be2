"""The published knowledge base as a Dagster resource, for assets of this project and of others."""

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import dagster as dg
from pydantic import Field, PrivateAttr

from lightrag_dagster.query.facts.conditions import By, FactOptions
from lightrag_dagster.query.facts.types import FactCounts, FactList
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Answer, Retrieval
from lightrag_dagster.settings import load_settings

if TYPE_CHECKING:
    from lightrag_dagster.query.knowledge_base import KnowledgeBase
    from lightrag_dagster.spending.account import Account


class KnowledgeBaseResource(dg.ConfigurableResource):
    """The published knowledge base of a home, for questions.

    The snapshot is opened at the first question of a run, so that an asset downstream of `knowledge_base` sees the
    snapshot of its own run, and stays the same to the end of the run. It is opened once in a process, and threads and
    tasks share it.

    Example:
        >>> @dg.asset
        ... def briefing(knowledge: KnowledgeBaseResource) -> str:
        ...     return knowledge.query("What changed in the contracts?").text
        >>> defs = dg.Definitions([briefing], resources={"knowledge": KnowledgeBaseResource(home="/srv/lightrag")})
    """

    home: str = Field(description="Folder of the knowledge base (LIGHTRAG_HOME).")
    snapshot_id: str | None = Field(default=None, description="A snapshot to stay with; else the published one.")
    scope: str | None = Field(default=None, description="A scope to ask, in place of the whole knowledge base.")
    options: dict[str, Any] = Field(
        default={}, description="Settings, such as `llm`, in place of those in LIGHTRAG_… variables and lightrag.yaml."
    )

    _opened: "KnowledgeBase | None" = PrivateAttr(default=None)
    _opening: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def open(self, account: "Account | None" = None) -> "KnowledgeBase":
        """Open the snapshot for a `with` block of its own; see `KnowledgeBase.open`."""
        from lightrag_dagster.query.knowledge_base import KnowledgeBase

        settings = load_settings(home=self.home, **self.options)
        return KnowledgeBase.open(snapshot_id=self.snapshot_id, scope=self.scope, settings=settings, account=account)

    def retrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Return everything found in the run's snapshot; see `KnowledgeBase.retrieve`."""
        return self._knowledge().retrieve(query, **options)

    def query(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Return an answer from the run's snapshot; see `KnowledgeBase.query`."""
        return self._knowledge().query(query, **options)

    def query_batch(self, queries: Sequence[str], **options: Unpack[QueryOptions]) -> list[Answer]:
        """Return the answers to several questions, asked at once; see `KnowledgeBase.query_batch`."""
        return self._knowledge().query_batch(queries, **options)

    def facts(
        self,
        subject: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 100,
        **given: Unpack[FactOptions],
    ) -> FactList:
        """Return facts of the run's snapshot; see `KnowledgeBase.facts`."""
        return self._knowledge().facts(subject, filters=filters, limit=limit, **given)

    def count(
        self,
        subject: str | None = None,
        *,
        by: By | None = None,
        filters: Filters | None = None,
        limit: int = 100,
        **given: Unpack[FactOptions],
    ) -> FactCounts:
        """Return numbers of facts of the run's snapshot; see `KnowledgeBase.count`."""
        return self._knowledge().count(subject, by=by, filters=filters, limit=limit, **given)

    async def aretrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Retrieve in a thread, for an event loop; see `retrieve`."""
        return await (await asyncio.to_thread(self._knowledge)).aretrieve(query, **options)

    async def aquery(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Query in a thread, for an event loop; see `query`."""
        return await (await asyncio.to_thread(self._knowledge)).aquery(query, **options)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the run's snapshot, if it was opened."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _knowledge(self) -> "KnowledgeBase":
        with self._opening:
            if self._opened is None:
                self._opened = self.open()
            return self._opened
